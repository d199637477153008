"""The pages as a site, built from what is tracked. The layout of the repository stays, so links between pages hold.

A link to a folder or to code leads nowhere on a site: its words stay, and the link goes. A Mermaid diagram of an
example becomes the picture that `slinky diagram` draws: a browser would fetch Mermaid from another host.
"""

import html
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from os.path import normpath
from pathlib import Path

from lab import paths, python_env
from lab.errors import LabError

CONFIG = "docs/zensical.toml"
SHOWN = ("*.md", "docs/*", "examples/*", "LICENSE")
HIDDEN = ("tests/", "lab/", "policies/", "docs/reading-the-code.md", CONFIG)
"""What the site doesn't have: pages for who changes the code."""
DIAGRAM = re.compile(
    r"\((?:\.\./)*(examples/Pulumi\.([\w-]+)\.yaml)\)[^`]*?(```mermaid\n.*?^```)$", re.DOTALL | re.MULTILINE
)
FRONT = "README.md"
BUTTON = "[Start: your first cluster](docs/quick-start.md){ .md-button .md-button--primary }"
LONGEST = 24
"""As many characters of inline code fit a line of the list of headings, and of a telephone in any place."""
SEPARATED = re.compile(r"(?<=[/,:=@|])(?=[^/,:=@|])|(?<=[\w>*]\.)(?=[A-Za-z<*])")
"""Between the names of a path or an address; the parts of a version stay together."""
INLINE = re.compile(r"<pre\b.*?</pre>|<code>([^<]*)</code>", re.DOTALL)
"""Inline code; blocks are matched first, so that their code isn't."""
HEADING = re.compile(r"^##+ (`[^`\n]*<[^`\n]*`)$", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def build(out: Path) -> Path:
    """Build the site into ``out``, which it replaces; returns its first page. Raises LabError with what zensical says."""
    program = python_env.ensure_docs() / "zensical"
    files = _files()
    work = paths.CACHE / "site"
    shutil.rmtree(work, ignore_errors=True)
    for name in files:
        to = work / "pages" / name
        to.parent.mkdir(parents=True, exist_ok=True)
        source = paths.REPO / name
        if to.suffix == ".md":
            text = with_pictures(source.read_text(), partial(_drawn, page=to))
            text = with_button(text) if name == FRONT else text
            to.write_text(with_anchors(without_dead_links(text, name, files)))
        else:
            shutil.copyfile(source, to)
    shutil.copyfile(paths.REPO / CONFIG, work / "zensical.toml")
    done = subprocess.run([program, "build", "--strict"], cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"zensical can't build the site:\n{(done.stdout + done.stderr).strip()[-3000:]}")
    for page in (work / "built").rglob("*.html"):
        page.write_text(with_whole_words(page.read_text()))
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(work / "built", out)
    return out / "index.html"


def with_pictures(text: str, draw: Callable[[str], str]) -> str:
    """The page's text with a picture in the place of each diagram of an example; ``draw`` returns its file name."""
    for found in DIAGRAM.finditer(text):
        file = draw(found[1])
        text = text.replace(found[3], f"![The cluster of {found[1]}]({file})")
    return text


def with_anchors(text: str) -> str:
    """The page's text with the anchor of each heading that has ``<name>`` in it, as GitHub makes it: the slugs of
    pymdownx take that for a tag and leave it out."""

    def anchored(found: re.Match[str]) -> str:
        anchor = re.sub(r"[^\w -]", "", found[1].lower()).replace(" ", "-")
        return f"{found[0]} {{ #{anchor} }}"

    return HEADING.sub(anchored, text)


def with_button(text: str) -> str:
    """The front page's text with one button before its first picture: to the first step."""
    return text.replace("\n![", f"\n{BUTTON}\n\n![", 1)


def with_whole_words(page: str) -> str:
    """A page's HTML in which a browser breaks inline code between words, and a long word behind a separator, nowhere else:
    no style says "don't break behind a hyphen, and do at a blank"."""
    return INLINE.sub(lambda found: found[0] if found[1] is None else f"<code>{_whole(found[1])}</code>", page)


def _whole(code: str) -> str:
    """Inline code's HTML, word by word."""
    return "".join(part if part.isspace() else _word(html.unescape(part)) for part in re.split(r"(\s+)", code) if part)


def _word(word: str) -> str:
    parts = [word] if len(word) <= LONGEST else SEPARATED.split(word)
    kinds = ("whole" if len(part) <= LONGEST else "long" for part in parts)
    spans = (f'<span class="{kind}">{html.escape(part)}</span>' for kind, part in zip(kinds, parts, strict=True))
    return word if word.isalnum() and len(word) <= LONGEST else "<wbr>".join(spans)


def _drawn(example: str, *, page: Path) -> str:
    """Draw an example beside a page; returns the file's name."""
    name = f"{Path(example).stem}.svg"
    command = [
        str(python_env.ensure()),
        "-m",
        "slinky_iac",
        "diagram",
        "--config",
        example,
        "--out",
        str(page.parent / name),
    ]
    subprocess.run(command, cwd=paths.REPO, capture_output=True, check=True)
    return name


def without_dead_links(text: str, page: str, files: frozenset[str]) -> str:
    """The page's text without links to what the site doesn't have."""

    def kept(found: re.Match[str]) -> str:
        if re.match(r"[a-z]+:", found[2]) or normpath(Path(page).parent / found[2]) in files:
            return found[0]
        return found[1]

    return LINK.sub(kept, text)


def _files() -> frozenset[str]:
    listed = subprocess.run(["git", "ls-files", *SHOWN], cwd=paths.REPO, capture_output=True, text=True, check=True).stdout
    return frozenset(name for name in listed.splitlines() if not name.startswith(HIDDEN))
