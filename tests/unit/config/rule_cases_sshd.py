"""Cases for the rules about sshd: each a fault and its cure."""

from __future__ import annotations

from typing import Any

from tests.stacks import minimal
from tests.unit.config.rule_cases import Case

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGdU5wqYmLSHTDfp7UlKmJiJp0SmnxvQ5nSfK2bd2j9C admin@example.org\n"
SSSD = {"secret": "sssd"}


def login(**settings: Any) -> dict[str, Any]:
    return minimal(logins={"main": {"sssdConfFrom": SSSD} | settings})


def worker(text: str) -> dict[str, Any]:
    ssh = {"enabled": True, "sssdConfFrom": SSSD, "extraSshdConfig": text}
    return minimal(nodesets={"gpu": {"replicas": 1, "ssh": ssh}})


def lines(name: str, bad: str, words: tuple[str, ...], good: str, level: str = "error") -> Case:
    return Case(
        name,
        login(extraSshdConfig=bad),
        level,
        "logins.main.extraSshdConfig",
        words,
        {"logins": {"main": {"extraSshdConfig": good}}},
    )


SSHD = [
    lines(
        "a word of no sshd", "PermitRootLogins no\n", ("on line 1", "did you mean permitrootlogin?"), "PermitRootLogin no"
    ),
    lines("a word without a value", "# a\n\nBanner\n", ("Banner on line 3", "without a value"), "Banner /etc/issue"),
    lines("a flag that is none", "PasswordAuthentication off\n", ("yes or no",), "passwordauthentication=no"),
    lines("root by another word", "PermitRootLogin key", ("prohibit-password",), "PermitRootLogin prohibit-password"),
    lines(
        "what can't be behind a Match",
        "Match Group admins\n  AllowTcpForwarding yes\nMaxStartups 10\n",
        ("MaxStartups on line 3", "above the first Match"),
        "MaxStartups 10\nMatch Group admins\n  AllowTcpForwarding yes\n",
    ),
    lines("a port that no Service leads to", "Port 2222\n", ("Port 2222", "port 22 of the pod"), "Port 2222\nPort 22\n"),
    lines(
        "a command for keys without its user",
        "AuthorizedKeysCommand /usr/bin/sss_ssh_authorizedkeys\n",
        ("AuthorizedKeysCommandUser USER",),
        "AuthorizedKeysCommand /usr/bin/sss_ssh_authorizedkeys\nAuthorizedKeysCommandUser root\n",
    ),
    Case(
        "a word of no sshd in pods of slurmd",
        worker("AllowGrups hpc"),
        "error",
        "nodesets.gpu.ssh.extraSshdConfig",
        ("did you mean allowgroups?",),
        {"nodesets": {"gpu": {"ssh": {"extraSshdConfig": "AllowGroups hpc\nPort 2222"}}}},
    ),
    Case(
        "a fingerprint in the place of a key",
        login(rootAuthorizedKeys=f"# admins\n{KEY}SHA256:uNiVztksCsDhcc0u9e8BrrQXVUpKZIDTMczCvj3tD2s\n"),
        "error",
        "logins.main.rootAuthorizedKeys",
        ("line 3", ".pub"),
        {"logins": {"main": {"rootAuthorizedKeys": f'from="192.0.2.0/24",no-pty {KEY}\n# end\n'}}},
    ),
    Case(
        "a private key in the place of a public one",
        login(rootAuthorizedKeys="-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n"),
        "error",
        "logins.main.rootAuthorizedKeys",
        ("private key in plain text", "as leaked"),
        {"logins": {"main": {"rootAuthorizedKeys": KEY}}},
    ),
]
SSHD_TOLD = [
    lines(
        "a line behind the operator's",
        "X11Forwarding no",
        ("says yes", "Match all"),
        "Match all\nX11Forwarding no",
        "warning",
    ),
    lines("PAM that stays", "UsePAM no", ("has no effect. Remove it",), "UsePAM yes", "warning"),
    lines(
        "a second sftp",
        "Subsystem sftp /usr/lib/openssh/sftp-server",
        ("internal-sftp", "9.5"),
        "Subsystem  sftp  internal-sftp\nSubsystem netconf /usr/bin/netconf",
        "warning",
    ),
    Case(
        "methods behind the operator's",
        worker("AuthenticationMethods publickey"),
        "warning",
        "nodesets.gpu.ssh.extraSshdConfig",
        ("publickey password", "Match all"),
        {"nodesets": {"gpu": {"ssh": {"extraSshdConfig": "Match all\nAuthenticationMethods publickey"}}}},
    ),
]
