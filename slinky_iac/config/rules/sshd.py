"""Rules of sshd in login pods and pods of slurmd: lines over which it ends at its start, or that it passes over, and keys.

slurm-operator writes a few lines of its own, and those of the stack behind them (``buildSshdConfig`` and
``buildWorkerSshdConfig``); of two lines of one keyword sshd takes the first. Source: servconf.c of OpenSSH 8.7 to 10.5,
between which images of Rocky Linux 9 to Ubuntu 26.04 are, and the patches of both distributions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.rules.slurm_programs import is_slinkys
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.text import closest


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ANYWHERE: Final = _words(
    """
    acceptenv allowagentforwarding allowgroups allowstreamlocalforwarding allowtcpforwarding allowusers
    authenticationmethods authorizedkeyscommand authorizedkeyscommanduser authorizedkeysfile authorizedkeysfile2
    authorizedprincipalscommand authorizedprincipalscommanduser authorizedprincipalsfile banner casignaturealgorithms
    challengeresponseauthentication channeltimeout chrootdirectory clientalivecountmax clientaliveinterval denygroups
    denyusers disableforwarding exposeauthinfo forcecommand gatewayports gssapiauthentication hostbasedacceptedalgorithms
    hostbasedacceptedkeytypes hostbasedauthentication hostbasedusesnamefrompacketonly ignorerhosts include ipqos
    kbdinteractiveauthentication kerberosauthentication loglevel logverbose match maxauthtries maxsessions pamservicename
    passwordauthentication permitemptypasswords permitlisten permitopen permitrootlogin permittty permittunnel
    permituserrc pubkeyacceptedalgorithms pubkeyacceptedkeytypes pubkeyauthentication pubkeyauthoptions rdomain
    refuseconnection rekeylimit requiredrsasize revokedkeys rhostsrsaauthentication rsaauthentication setenv
    skeyauthentication streamlocalbindmask streamlocalbindunlink subsystem trustedusercakeys unusedconnectiontimeout
    x11displayoffset x11forwarding x11uselocalhost
    """
)
_OUTSIDE_MATCH: Final = _words(
    """
    addressfamily afstokenpassing checkmail ciphers compression dsaauthentication fingerprinthash gssapicleanupcredentials
    gssapistrictacceptorcheck hostcertificate hostdsakey hostkey hostkeyagent hostkeyalgorithms ignoreuserknownhosts
    keepalive kerberosgetafstoken kerberosorlocalpasswd kerberostgtpassing kerberosticketcleanup kexalgorithms
    keyregenerationinterval listenaddress logingracetime macs maxstartups modulifile pamauthenticationviakbdint
    permituserenvironment persourcemaxstartups persourcenetblocksize persourcepenalties persourcepenaltyexemptlist pidfile
    port printlastlog printmotd protocol reversemappingcheck rhostsauthentication securitykeyprovider serverkeybits
    sshdauthpath sshdsessionpath strictmodes syslogfacility tcpkeepalive usedns uselogin usepam useprivilegeseparation
    verifyreversemapping versionaddendum xauthlocation
    """
)
_OF_DISTRIBUTIONS: Final = _words(
    """
    debianbanner gssapidelegatecredentials gssapienablek5users gssapikexalgorithms gssapikeyexchange
    gssapistorecredentialsonrekey kerberosuniqueccache kerberosusekuserok rsaminsize
    """
)
_FLAGS: Final = _words(
    """
    allowagentforwarding challengeresponseauthentication disableforwarding exposeauthinfo gssapiauthentication
    hostbasedauthentication kbdinteractiveauthentication passwordauthentication permitemptypasswords permittty permituserrc
    printlastlog printmotd pubkeyauthentication strictmodes tcpkeepalive usedns usepam x11forwarding x11uselocalhost
    """
)
"""Keywords that are yes or no."""
_ROOT: Final = ("yes", "no", "prohibit-password", "without-password", "forced-commands-only")
_LOGIN: Final[Mapping[str, str]] = {"usepam": "yes", "x11forwarding": "yes", "subsystem sftp": "internal-sftp"}
_WORKER: Final[Mapping[str, str]] = {
    "usepam": "yes",
    "subsystem sftp": "internal-sftp",
    "authenticationmethods": "publickey password",
}
"""What the operator's own lines say."""
_COMMANDS: Final = ("authorizedkeyscommand", "authorizedprincipalscommand")
_LINE: Final = re.compile(r"\s*([^\s=\"#]+)(?:\s*=\s*|\s+|$)(.*)")
_ENDS: Final = "sshd ends at its start over it"
_PUBLIC: Final = re.compile(
    r"(?:^|[\s,])(?:ssh-|ecdsa-|sk-ssh-|sk-ecdsa-)[A-Za-z0-9@.-]+\s+AAAA[A-Za-z0-9+/]*={0,2}(?:\s|$)"
)


@dataclass(frozen=True)
class _Line:
    number: int
    keyword: str
    """As it is written."""
    value: str
    in_match: bool

    @property
    def low(self) -> str:
        """The keyword, which sshd reads without regard to case."""
        return self.keyword.lower()


def _lines(text: str) -> Iterator[_Line]:
    in_match = False
    for number, line_text in enumerate(text.splitlines(), 1):
        if line_text.lstrip().startswith("#") or (match := _LINE.match(line_text)) is None:
            continue
        line = _Line(number, match[1], match[2].strip(), in_match)
        in_match = in_match or line.low == "match"
        yield line


def _sshd(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    images = config.cluster.images
    for name, login in config.logins.items():
        path, lines = f"logins.{name}.extraSshdConfig", list(_lines(login.extra_sshd_config))
        yield from _of_one(path, lines, _LOGIN, slinkys=is_slinkys(login.image or images.login))
        ports = [directive.value for directive in lines if directive.low == "port"]
        if ports and "22" not in ports and not login.pod.host_network:
            yield at(path).error(
                f"has Port {name_of(ports[0])}, and the Service of sshd leads to port 22 of the pod: no login gets there."
                " Leave Port out; service.nodePort, or a load balancer, gives users another port"
            )
    for name, nodeset in config.nodesets.items():
        if nodeset.ssh.enabled:
            path, lines = f"nodesets.{name}.ssh.extraSshdConfig", list(_lines(nodeset.ssh.extra_sshd_config))
            yield from _of_one(path, lines, _WORKER, slinkys=is_slinkys(nodeset.image or images.slurmd))


def _of_one(path: str, lines: list[_Line], own: Mapping[str, str], *, slinkys: bool) -> Iterator[Finding]:
    known = _ANYWHERE | _OUTSIDE_MATCH | _OF_DISTRIBUTIONS
    there = {directive.low for directive in lines}
    for line in lines:
        has = f"has {name_of(line.keyword)} on line {line.number}"
        if line.low not in known:
            meant = f" (did you mean {near}?)" if (near := closest(line.low, known)) else ""
            yield at(path).error(f"{has}, which is no keyword of sshd_config(5){meant}: {_ENDS}. Correct or remove the line")
        elif said := _fault(line):
            yield at(path).error(f"{has}, {said}: {_ENDS}. Correct it")
        elif line.in_match and line.low in _OUTSIDE_MATCH:
            yield at(path).error(f"{has}, behind a Match, where it can't be: {_ENDS}. Write it above the first Match")
        elif line.low in _COMMANDS and line.value.lower() != "none" and slinkys and f"{line.low}user" not in there:
            yield at(path).error(
                f"{has}, and no {line.keyword}User: {_ENDS}. Add the line `{line.keyword}User USER`: who runs the command"
            )
        elif said := _first(line, own):
            yield at(path).warning(f"{has}, {said}", id="sshd-ignores")


def _fault(line: _Line) -> str:
    """What is wrong with a value."""
    value = line.value.strip('"').lower()
    if not value:
        return "without a value"
    if line.low in _FLAGS and value.split()[0] not in ("yes", "no"):
        return f"with {name_of(value)}, which is yes or no"
    if line.low == "permitrootlogin" and value.split()[0] not in _ROOT:
        return f"with {name_of(value)}, which is one of {', '.join(_ROOT)}"
    return ""


def _first(line: _Line, own: Mapping[str, str]) -> str:
    """That the operator's line comes before it, where it says something else."""
    words = line.value.split()
    key = f"subsystem {words[0]}" if line.low == "subsystem" else line.low
    value = " ".join(words[1:] if line.low == "subsystem" else words).strip('"')
    if line.in_match or own.get(key, value).lower() == value.lower():
        return ""
    said = f"and slurm-operator's own line before it says {own[key]}, which sshd takes"
    if line.low == "subsystem":
        return f"{said}; OpenSSH older than 9.5 (Rocky Linux 9) ends over the second. Remove it"
    cure = "Remove it" if line.low in _OUTSIDE_MATCH else "Write it below a line `Match all`, behind all others"
    return f"{said}: this one has no effect. {cure}"


def _keys(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Lines of authorized_keys that sshd passes over. A private key is said of elsewhere."""
    for name, login in config.logins.items():
        if "-----BEGIN" in login.root_authorized_keys:
            continue
        for number, line in enumerate(login.root_authorized_keys.splitlines(), 1):
            if line.strip() and not line.lstrip().startswith("#") and _PUBLIC.search(line) is None:
                yield at(f"logins.{name}.rootAuthorizedKeys").error(
                    f"has no public key on line {number}: one is its kind and a text in base64 that begins with AAAA, as"
                    " ssh-ed25519 AAAA… admin. sshd passes over another line, and root can't log in by it. Copy the file"
                    " that ends in .pub"
                )


RULES = (_sshd, _keys)
