"""Resources of other providers, a cloud's above all: a list of kinds that hold data or lead connections, judged by what they
name and open. Any other kind may run programs, give rights or take machines away, and needs an entry."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from slurm_rules.made import HARMLESS, Fault
from slurm_rules.model import Resource, everything, mappings, texts
from slurm_rules.others import PORTS, listed, marks, names
from slurm_rules.people import people_faults
from slurm_rules.rights import as_kubernetes
from slurm_rules.scripts import row_faults
from slurm_rules.secret_text import LARGEST, TOKEN, views
from slurm_rules.secret_text import forms as shown_by
from slurm_rules.spaces import elsewhere_named
from slurm_rules.world import World

_LISTS: Final[Mapping[str, Any]] = HARMLESS["clouds"]
_WIDE: Final = re.compile(r"[\d.]{1,15}/[0-7]|[\da-fA-F:]{1,39}/(?:\d|1[0-5])|\*|Internet|Any")
"""Networks so wide that two of them are all addresses."""
_EVERYBODY: Final = re.compile(
    r'^public-read|^(?:Any)?Object(?:Read|Write)|^\.r:\*|^all(?:Authenticated)?Users$|"(?:Principal|AWS)"\s{0,99}:[\s[]{0,99}"\*"'
)
_PUBLIC: Final = re.compile(r"(?i)(?<!block)(?:publicly|public_?access|is_?public)")
_FORCED: Final = re.compile(r"(?i)^allows?ForcePush")
_TO: Final = re.compile(rf"(?://|@)[\w.-]{{1,253}}:(?:{'|'.join(map(str, PORTS))})\b")
_MACHINES: Final = "machines may run programs, let others in, or go with the jobs on them"
_FORMED: Final = "what it holds may go to others, or others may come in"
_SHARE: Final = re.compile(r"(?i)share|file|export|mount|volume|netapp")
_DAEMON: Final = re.compile(
    r"(?i)(?:_\w{1,20}\._tcp\.)?_?(?:[\w-]{0,40}-)?(?:slurm(?:ctld|dbd|restd|d)?|sackd)[\w-]{0,20}(?:\.|$)"
)
"""Names of daemons' hosts: to who answers there go the tokens of all users, or the configuration of all nodes."""
_WEB: Final = frozenset({80, 443})
_ASIDE: Final = re.compile("(?i)dest|port")
_LEADS: Final = re.compile(r"(?i)^(?:content|value|target|data|record(?!name)s?\b|rrdata|address|alias|\w{1,9}Records?\b)")
"""Fields of a record that say where its name leads."""
_NAMES: Final = re.compile(r"(?i)(?:relative)?(?:record)?(?:set)?name|fqdn|subdomain|hostname")
_OF_CLUSTER: Final = re.compile(r"(?i)slurm|munge|\bsackd?\b|kube|k3s|rke2|\b68(?:1[789]|20)\b|base64|\bb64\b|gzip")
"""What a machine of somebody else's has no word of; and texts that can't be read."""


def package_faults(resource: Resource, world: World) -> Iterator[Fault]:
    """Faults of a resource that isn't Kubernetes', a chart's release, or a gate."""
    package, _, rest = resource.type.partition(":")
    if resource.component or resource.type.startswith("pulumi:pulumi:"):
        return  # what a component makes is judged
    if package == "pulumi" and rest.partition(":")[2] in (*_LISTS["apart"], *_LISTS["providers"], "pulumi-python"):
        return
    yield from names(resource.props, "", world)
    yield from (
        Fault(path, "leads to a port of Slurm's daemons") for path, text in texts(resource.props) if _TO.search(text)
    )
    yield from people_faults(resource.props, "")
    yield from as_kubernetes(resource.props, "", "", world)
    given = [path for path, text in texts(resource.props) if len(text) <= LARGEST and TOKEN in shown_by(views(text))]
    yield from (Fault(path, f"gives {TOKEN} to {package}") for path in given)
    if package in _LISTS["apart"]:
        return
    kind = f"{re.split('[/:]', rest)[0]}:{resource.kind}".lower()
    grants = [may for kinds, may in _LISTS["grants"].items() if any(fnmatchcase(kind, form) for form in kinds.split("|"))]
    pools = [may for kinds, may in _LISTS["pools"].items() if kind in kinds.split("|")]
    issuer = package == "keycloak" and world.provider  # its tokens may be Slurm's
    forms = [may for kinds, may in _LISTS["forms"].items() if kind in kinds.split("|") and not issuer]
    known = grants or pools or forms or any(fnmatchcase(kind, form) for form in _LISTS["kinds"])
    if package not in _LISTS["providers"] or not known:
        yield Fault("", f"is of {package}, and may run programs, give rights, take machines away or write past the pack")
        return
    if grants:
        yield from _granted(resource, grants[0], world)
    if forms:
        yield from listed(resource.props, forms[0], _FORMED)
        yield from _booted(resource)
    if pools:
        yield from marks(resource.props, "", {"folders": ()})
        yield from listed(resource.props, {**pools[0], **_LISTS["pools"]["*"]}, _MACHINES)
    for path, key, part in everything(resource.props):
        if (not grants and isinstance(part, str) and _EVERYBODY.search(part)) or (part is True and _PUBLIC.search(str(key))):
            yield Fault(path, "is open to everybody")
        if (part is True and _FORCED.search(str(key))) or (part == "developer" and str(key).startswith("push")):
            yield Fault(path, "lets a branch be changed without a review")
    yield from _led(resource, world)
    yield from _opened(resource)


def _booted(resource: Resource) -> Iterator[Fault]:
    """What a machine runs when it starts."""
    fields = ("userData", "metadata", "metadataStartupScript")
    for path, text in (pair for field in fields for pair in texts(resource.get(field), field)):
        if word := _OF_CLUSTER.search(text):
            yield Fault(path, f"has {word[0]}: a machine that is part of the cluster, or whose programs no rule can read")
        yield from (Fault(path, what) for what in row_faults(text))


def _led(resource: Resource, world: World) -> Iterator[Fault]:
    """To whom a share gives its files, and who answers for the names of daemons."""
    if _SHARE.search(resource.kind):
        wide = ((path, text) for path, text in texts(resource.props) if _WIDE.fullmatch(text))
        yield from (Fault(path, f"gives {text} files of the share") for path, text in wide)
    if resource.kind == "AccessPoint" and resource.get("posixUser", "uid") == 0:
        yield Fault("posixUser.uid", "is root over the files")
    if "record" in resource.kind.lower():
        yield from _answered(resource, world)


def _answered(resource: Resource, world: World) -> Iterator[Fault]:
    """Of a record of DNS: a name by which the stack finds somebody, and a daemon's that leads to a stranger."""
    values = [(path, text.lower().rstrip(".")) for path, text in texts(resource.props)]
    leads = [text.rpartition(" ")[2] for path, text in values if _LEADS.match(path) and re.search("[.:]", text)]
    for path, text in values:
        named = _NAMES.fullmatch(path)
        own = [host for host in sorted(world.addresses) if fnmatchcase(host, text) or fnmatchcase(host, f"{text}.*")]
        domain = re.sub(r"^(?:_[^.]{1,63}\.)+|^[^.]{1,63}\.", "", text)
        near = [world.near(lead) or ("." in domain and lead.endswith(f".{domain}")) for lead in leads]
        if named and own:
            yield Fault(path, f"says who answers for {own[0]}, which this stack asks")
        elif _DAEMON.match(text) and not (named and near and all(near)):
            yield Fault(path, f"says who answers for {text}")


def fetched(resource: Resource) -> Iterator[Fault]:
    """A provider whose plugin comes from a place that the stack names. The engine shows a resource's option of that name as
    its default provider, with the place in the name."""
    default = resource.name.startswith("default_") and "/" in resource.name
    if resource.type.startswith("pulumi:providers:") and (default or resource.peek("pluginDownloadURL")):
        yield Fault("pluginDownloadURL", "says from where the engine fetches a program, and runs it")


def _granted(resource: Resource, may: list[str], world: World) -> Iterator[Fault]:
    """Rights that a resource gives, beside those that can't reach machines, keys or slurmctld's state."""
    policy, role, member = str(resource.get("policy") or ""), resource.get("role"), str(resource.get("member"))
    spaces = {*map(str, _list(resource.get("boundServiceAccountNamespaces") or []))}
    if spaces:
        if not spaces.isdisjoint({"*", *world.closed}) or not resource.get("boundServiceAccountNames"):
            yield Fault("boundServiceAccountNamespaces", "lets accounts of the cluster in")
    elif trust := resource.get("assumeRolePolicy"):
        if more := set(resource.names()) - {"assumeRolePolicy", "name", "description", "tags", "path", "maxSessionDuration"}:
            yield Fault(min(more), "may give rights; give them by a policy of the role's own, which is judged")
        if not all(_account(principal, world) for principal in _trusted(str(trust))):
            yield Fault("assumeRolePolicy", "lets in others than named accounts of namespaces that aren't the cluster's")
    elif role is not None and not policy:
        if not any(fnmatchcase(str(role), pattern) for pattern in may) or not member.startswith("serviceAccount:"):
            yield Fault("role", f"gives {role} to {member}")
        if any(f"[{space}/" in member for space in world.closed):
            yield Fault("member", "is an account of the cluster")
    elif said := resource.get("statements"):
        yield from (Fault("statements", f"says {text!s:.80}") for text in _list(said) if not _LOOKED_AT.fullmatch(str(text)))
    elif policy.lstrip().startswith("{"):
        yield from (Fault("policy", said) for said in _statements(policy, may))
    else:
        places = re.findall(r'path\s{1,9}"([^"]{1,200})"', policy)
        if not places or "sudo" in policy or not all(_OWN_PLACE.match(place) for place in places):
            yield Fault("policy", "gives more than places of an application's own")


def _trusted(trust: str) -> list[str]:
    """Who may take a role, in AWS's language: the accounts of Kubernetes that each statement names, or an empty name."""
    try:
        rows = [row for row in _list(json.loads(trust)["Statement"]) if isinstance(row, Mapping)]
        asked = [(row["Action"], row["Condition"]["StringEquals"]) for row in rows]
    except (ValueError, KeyError, TypeError, RecursionError):
        return [""]
    said = [
        next((f"{key} {who}" for key, who in equals.items() if key.endswith(":sub")), "") if action == _BY_IDENTITY else ""
        for action, equals in asked
    ]
    return said if said and all(f'provider/{who.partition(":sub ")[0]}"' in trust for who in said) else [""]


def _account(subject: str, world: World) -> bool:
    parts = subject.partition(":sub ")[2].split(":")
    named = len(parts) == 4 and parts[:2] == ["system", "serviceaccount"] and elsewhere_named(parts[2], world)
    return named or bool(_BRANCH.fullmatch(subject))


_BRANCH: Final = re.compile(
    r"token\.actions\.githubusercontent\.com:sub repo:[\w.-]{1,60}/[\w.-]{1,100}:"
    r"(?:ref:refs/heads/[\w./-]{1,100}|environment:[\w.-]{1,60})"
    r"|gitlab\.com:sub project_path:[\w./-]{1,200}:ref_type:branch:ref:[\w./-]{1,100}"
)
"""One branch, or environment, of one repository, as who signs for it says."""
_BY_IDENTITY: Final = "sts:AssumeRoleWithWebIdentity"


def _statements(policy: str, may: list[str]) -> Iterator[str]:
    """What a policy in AWS's language allows. ``ACTION *`` may be had on everything, other actions on what is named."""
    try:
        statements: list[Any] = _list(json.loads(policy)["Statement"])
        rows = [(_list(row["Action"]), _list(row["Resource"])) for row in statements if row["Effect"] != "Deny"]
    except (ValueError, KeyError, TypeError, RecursionError):
        yield "isn't a policy that can be read"
        return
    for actions, things in rows:
        named = all(_NAMED.match(str(thing)) for thing in things)
        for action in actions:
            if not any(fnmatchcase(str(action), form.removesuffix(" *")) and (named or form.endswith(" *")) for form in may):
                yield f"allows {action}"


_LOOKED_AT: Final = re.compile(
    r"(?i)allow group [\w.'/-]{1,100} to inspect [\w-]{1,60} in (?:tenancy|compartment (?:id )?[\w.:-]{1,200})"
)
"""Which resources there are, without what they hold. Source: Oracle Cloud, "Verbs" of policies."""
_NAMED: Final = re.compile(
    r"arn:[\w-]{1,20}:(?:s3:::[a-z0-9.-]{3,63}(?:/.*)?$|(?!s3:)[\w-]{1,30}:[\w-]{0,30}:\d{0,12}:[^*]{3})"
)
_OWN_PLACE: Final = re.compile(r"(?!sys/|auth/|identity/)[\w-]{1,60}/[\w/-]{3,}")


def _opened(resource: Resource) -> Iterator[Fault]:
    """Slurm's ports, which nothing but a firewall may open, and that to named networks; to all, it opens the web's alone."""
    firewall = re.search("sec(?!uritypolicy)|firewall", resource.kind.lower())
    for path, part in mappings(resource.get() if firewall else resource.props):
        ports = {port for _, row in mappings(part) for port in _ports(row)}
        out = str(part.get("direction") or part.get("type")).lower() in ("egress", "outbound", "out")
        if not firewall and not ports.isdisjoint(PORTS):
            yield Fault(path, "leads connections to a port of Slurm's daemons")
        protocols = {str(value)[:4].lower() for _, row in mappings(part) for key, value in row.items() if "rotocol" in key}
        if not firewall or out or "egress" in f"{path}{resource.kind}".lower() or protocols == {"icmp"}:
            continue
        said = [str(word) for key, value in part.items() if not _ASIDE.search(key) for word in _list(value)]
        if (not ports or not ports <= _WEB) and any(_WIDE.fullmatch(word) for word in said):
            yield Fault(path, "opens more than the web's ports to every address")


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _ports(part: Mapping[str, Any]) -> Iterator[int]:
    """The numbers by which a mapping names ports. Those of a range are its ends."""
    for key, value in part.items():
        for port in _list(value) if "port" in key.lower() and "source" not in key.lower() else ():
            yield from map(int, re.findall(r"(?<![.\d])\d{1,6}", str(port)))
