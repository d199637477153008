"""Types that several threads decode for the first time at the same moment."""

import re
import subprocess
import sys

from tests.stacks import ROOT

TWO_THREADS = """
import sys, threading
import msgspec
from slinky_iac.decoders import decoder

building, ended = threading.Event(), threading.Event()

def field():  # what a type says of its field, asked for in the middle of building
    building.set()
    ended.wait(1)
    return int

class Inner(msgspec.Struct):
    number: "field()"

class Outer(msgspec.Struct):
    inner: Inner

def decode():
    found.append(way(b'{"inner": {"number": 7}}').inner.number)

plain = lambda body: msgspec.json.decode(body, type=Outer)
ours = lambda body: decoder(Outer).decode(body)
way, found = {"plain": plain, "ours": ours}[sys.argv[1]], []
first = threading.Thread(target=decode)
first.start()
building.wait(10)
second = threading.Thread(target=lambda: (decode(), ended.set()))
second.start()
first.join()
second.join()
print(found)
"""


def two_threads(way: str) -> "subprocess.CompletedProcess[str]":
    """In a process of its own, for it may not survive."""
    command = [sys.executable, "-c", TWO_THREADS, way]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def test_a_type_that_two_threads_decode_for_the_first_time_ends_no_process():
    done = two_threads("ours")
    assert (done.returncode, done.stdout) == (0, "[7, 7]\n"), done.stderr


def test_every_type_is_decoded_by_its_one_decoder():
    direct = re.compile(r"msgspec\.json\.(decode|Decoder)\(")
    modules = (ROOT / "slinky_iac").rglob("*.py")
    assert {path.name for path in modules if direct.search(path.read_text())} == {"decoders.py"}
