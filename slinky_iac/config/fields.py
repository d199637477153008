"""The words of the configuration: reusable field types, each with the rule it holds and where the rule comes from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date
from ipaddress import ip_address
from types import MappingProxyType
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from slinky_iac.config.file_paths import context_name, file_path
from slinky_iac.config.hosts import no_host
from slinky_iac.config.kubernetes.names import IMAGE, is_entry_name, is_image
from slinky_iac.config.quantities import memory, quantity, whole_cpus
from slinky_iac.config.shown import SHORT, Refused, may_be_secret, name_of, of_name, of_names, unknown_word
from slinky_iac.config.slurm.gres import SHARED, GresItem
from slinky_iac.config.slurm.names import USER, cluster_name, feature, node_name, slurm_word
from slinky_iac.errors import HostlistError
from slinky_iac.hostlist import expand
from slinky_iac.names import is_dns_label
from slinky_iac.pulumi_yaml import written
from slinky_iac.releases import OperatorVersion

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_RELEASE = re.compile(r"([0-9]{2}\.[0-9]{2})\.[0-9][0-9A-Za-z.-]*")
_MONTH = re.compile(r"[0-9]{2}\.(0[1-9]|1[0-2])")
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)%")
_HOST_VALUE = re.compile(r"[^\s'\"#\\]+")
_REASON = re.compile(r"[^\s='\"#\\]+( +[^\s='\"#\\]+)*")
_NODE_VALUE = re.compile(r"[^\s=,'\"#\\]+(,[^\s=,'\"#\\]+)*")
_PARTITION_VALUE = re.compile(r"[^\s#\\\"]+( +[^\s#\\\"]+)*|\"\"")
_QUOTED = re.compile(r'"([^"]+)"')
_DATABASE_USER = re.compile(r"[A-Za-z0-9_.@+-]{1,80}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MOST_CPUS: Final = 65533
"""Of a node: slurmctld counts them in 16 bits (``NO_VAL16`` of slurm.h)."""
_CONF_KEY = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_NUMBERED = re.compile(r"([a-z0-9-]*[a-z0-9])-?\[[0-9,-]+\]")


def _dns_label(value: str) -> str:
    """A name of Kubernetes' objects (``IsDNS1123Label`` of apimachinery's validation.go)."""
    if not is_dns_label(value):
        words = "; Kubernetes allows lower-case letters, digits and inner dashes, at most 63 characters"
        near = re.sub(r"[^a-z0-9-]+", "-", value.lower()).strip("-")
        near = f", for example {near}" if of_name(value) and is_dns_label(near) else ""
        raise Refused(value, words, whole=of_name(value), near=near)
    return value


def _entry_name(value: str) -> str:
    if not is_entry_name(value):
        raise Refused(value, "; an entry's name is letters, digits, '-', '_' and '.', at most 253 of them, without a folder")
    return value


def _nodeset_name(value: str) -> str:
    """A NodeSet: a label for Kubernetes, in lower case, with room for the numbers of pods. ALL and DEFAULT are Slurm's
    (``_parse_nodename`` and ``_parse_partitionname`` of read_config.c; ``build_all_nodeline_info``)."""
    if (numbered := _NUMBERED.fullmatch(value)) and is_dns_label(numbered[1]):
        with suppress(HostlistError):
            count = len(expand(value))
            raise Refused(value, f"; a NodeSet's pods are numbered: name it {numbered[1]} and give replicas: {count}")
    _dns_label(value)
    if len(value) > 30:
        raise Refused(
            value,
            f"; at most 30 of its {len(value)} characters are allowed, since pods, Slurm nodes and the feature are named"
            " after it. Shorten it",
            whole=of_name(value),
        )
    if value in {"all", "default"}:
        raise Refused(
            value, "; Slurm gives this word a meaning of its own in NodeSet= and PartitionName= lines. Give another name"
        )
    return value


def _host(value: str) -> str:
    if not is_host(value):
        raise ValueError(no_host(value, is_host))
    return value


def _host_of_several(value: str) -> str:
    if not is_host(value):
        raise ValueError(no_host(value, is_host, several=True))
    return value


def is_host(value: str) -> bool:
    """Whether a text is a DNS name or an IP address: Kubernetes asks for one where it leads pods there
    (``IsDNS1123Subdomain`` of validation.go, for ExternalName and EndpointSlice)."""
    labels = value.removesuffix(".").split(".")
    # A last label without a letter is a mistyped address (RFC 3696, section 2), or a range: no DNS would ever answer.
    is_name = len(value) <= 253 and all(is_dns_label(label) for label in labels) and labels[-1].upper() != labels[-1]
    return is_name or is_address(value)


def is_address(host: str) -> bool:
    """Whether ``host`` is an IP address that holds anywhere. One with a zone is none: Python takes any text behind the
    ``%``, line breaks too, and it means something on one machine only."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return "%" not in host


def _image(value: str) -> str:
    if ":" not in value.rsplit("/", 1)[-1]:
        raise Refused(
            value, "; an image is repository:tag or repository@sha256:…; without a tag two pods may run two versions"
        )
    if not is_image(value):
        raise Refused(value, f"; kubelet reads {IMAGE.form}, a digest with 64 hexadecimal digits, and starts no other")
    return value


def _digest(value: str) -> str:
    if _DIGEST.fullmatch(value) is None:
        raise Refused(value, "; a digest is sha256: and 64 hexadecimal digits in lower case, as `helm pull` prints it")
    return value


def parse_duration(value: str) -> int:
    """Seconds of ``1d2h3m4s`` (any part may be left out). Raises ValueError with the form."""
    match = _DURATION.fullmatch(value)
    if match is None or not value:
        raise Refused(value, "; a duration is days, hours, minutes and seconds, for example 90s, 30m or 2d12h")
    days, hours, minutes, seconds = (int(g or 0) for g in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def address_of(url: str) -> tuple[str, int]:
    """Host and port of an http or https URL, the scheme's own port where it names none; no host for no URL."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _url(value: str) -> str:
    """An http or https address that goes into scripts, messages and the state: no text of others may hide in it."""
    form = "an address is http://HOST:PORT or https://HOST:PORT, and a path where it has one"
    try:
        host, _ = address_of(value)
        _host(host)
    except ValueError:
        raise ValueError(f"its host isn't an IP address or a DNS name, or its port isn't a port; {form}") from None
    if "@" in urlsplit(value).netloc:
        raise ValueError(f"it has a user or a password before an @, and previews and states show all of it; {form}")
    if not value.isprintable():
        raise ValueError(f"it holds characters that don't show; {form}")
    return value


def _reason(value: str) -> str:
    if not value.isprintable() or not 10 <= len(value.strip()) <= 300:
        raise ValueError("must be one line of 10 to 300 characters: why this is so on purpose, and who decided it")
    if any(may_be_secret(word) for word in value.split()):
        raise ValueError("has a word that looks like a key (not shown); reasons are shown in previews and outputs")
    return value.strip()


def _database_user(value: str) -> str:
    """MariaDB takes 80 characters of any kind (its manual, "Identifier Names"); slurmdbd.conf doesn't
    (``keyvalue_pattern`` of parse_config.c)."""
    if _DATABASE_USER.fullmatch(value) is None:
        raise ValueError(
            "it may hold letters, digits, '_', '.', '@', '+' and '-' only, since the operator writes it into slurmdbd.conf"
            " as it is"
        )
    return value


def _duration(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


def _operator_version(value: str) -> str:
    if len(value) > SHORT:
        raise Refused(value, "; a release of slurm-operator is three numbers, for example 1.2.1")
    return str(OperatorVersion.parse(value))


def _some(value: str) -> str:
    if not any(digit in value for digit in "123456789"):
        raise ValueError("must be above 0, for example 4")
    if whole_cpus(value) > _MOST_CPUS:
        raise Refused(value, f"; CPUs are counted one by one, at most {_MOST_CPUS}: 16, or 500m for half of one")
    return value


def _conf(
    allowed: re.Pattern[str], why: str, texts: Mapping[str, re.Pattern[str]] = MappingProxyType({})
) -> Callable[[dict[str, str]], dict[str, str]]:
    """Parameters of a line of slurm.conf, with values that the line can hold; ``texts``: what else parameters may be, by
    their names in lower case."""

    def checked(value: dict[str, str]) -> dict[str, str]:
        for key in value:
            if _CONF_KEY.fullmatch(key) is None:
                raise ValueError(
                    f"got the key {unknown_word(key)}; slurm.conf parameters are letters and digits, for example Weight"
                )
        for key, text in value.items():
            if texts.get(key.lower(), allowed).fullmatch(text) is None or not text.isprintable():
                raise ValueError(f"{name_of(key)}: the value may hold {why}")
            if fault := _of_a_shell(text):
                raise ValueError(f"{name_of(key)}: the value {fault}; no value of Slurm needs these, so remove them")
        return value

    return checked


def _of_a_shell(text: str) -> str:
    return "has '`' or '$(', which a shell would run" if "`" in text or "$(" in text else ""


def no_shell(value: str) -> str:
    """A path that no shell takes for a command, and that is shown as it is."""
    if fault := _of_a_shell(value) or ("" if value.isprintable() else "holds characters that don't show"):
        raise ValueError(f"it {fault}; a path is letters, digits and signs")
    return value


node_conf = _conf(
    _NODE_VALUE,
    "no space, '=', quote, '\\' or '#', since the operator splits the line at these (an item it can't split makes it panic)",
)
host_conf = _conf(
    _HOST_VALUE,
    "no blank, quote, '\\' or '#': it stands on a NodeName= line of slurm.conf, which is compared word by word. Reason alone"
    " may have blanks between its words, and no '='",
    {"reason": _REASON},
)
partition_conf = _conf(
    _PARTITION_VALUE,
    "no line break, no '#' or '\\', a quote only around the whole, and blanks between its words only: it stands on a line"
    " of slurm.conf, where '#' begins a comment and '\\' leads on to the next line",
)


def _as_text(value: object) -> object:
    if isinstance(value, bool):
        return "YES" if value else "NO"
    return str(value) if isinstance(value, int | float) else value


def _text_map(value: object) -> object:
    return {k: unquoted(_in_one_line(_as_text(v))) for k, v in value.items()} if isinstance(value, dict) else value


def _in_one_line(value: object) -> object:
    """A text of one line without the break at its end, which YAML's ``|`` gives it."""
    return value[:-1] if isinstance(value, str) and value.endswith("\n") and value.count("\n") == 1 else value


def unquoted(value: object) -> object:
    """What is between the quotes of a text, as slurm.conf(5) has them around any value; an empty one needs them, and text
    with another quote inside stays as it is (``keyvalue_pattern`` of parse_config.c)."""
    whole = isinstance(value, str) and _QUOTED.fullmatch(value)
    return whole[1] if whole else value


def _release(value: str) -> str:
    if _MONTH.fullmatch(value) is None:
        raise Refused(value, "; a release of Slurm is its year and its month, as 26.05")
    return value


def _without_patch(value: object) -> object:
    match = _RELEASE.fullmatch(value) if isinstance(value, str) else None
    return match[1] if match else value


def _share(value: object) -> object:
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    return float(match[1]) / 100 if match else value


def _gres(value: str) -> str:
    if GresItem.parse(value) is None:
        words = "; a GRES is name[:type][:no_consume][:count], for example gpu:a100:8 or license:no_consume:4"
        of_gpus = re.split("[:=]", value)[0].lower() in ("gpu", *SHARED)
        raise Refused(value, words, whole=of_gpus and of_names(value, ":=(),"))
    return value


def _each(check: Callable[[str], str]) -> Callable[[str], str]:
    """``check`` for each name of a hostlist such as ``metal-[001-500]`` or ``m-1,m-2``, and for one name."""

    def every(value: str) -> str:
        if not {"[", ","} & set(value):
            return check(value)
        try:
            names = expand(value)
        except HostlistError as error:
            raise Refused(value, f", a hostlist, {error.why}") from None
        for name in names:
            check(name)
        return value

    return every


def checked(check: Callable[[str], str]) -> AfterValidator:
    """A validator of a text: ``check`` returns it, or raises :class:`.shown.Refused`."""
    return AfterValidator(check)


DnsLabel = Annotated[str, checked(_dns_label)]
EntryName = Annotated[str, checked(_entry_name)]
"""The name of an entry of a Secret or a ConfigMap."""
NodeSetName = Annotated[str, checked(_nodeset_name)]
SlurmName = Annotated[str, checked(slurm_word)]
"""A partition, account or QOS."""
NodeName = Annotated[str, checked(node_name)]
NodeNames = Annotated[str, checked(_each(node_name))]
Feature = Annotated[str, checked(feature)]
ClusterName = Annotated[str, checked(cluster_name)]
Host = Annotated[str, checked(_host)]
Hosts = Annotated[str, checked(_each(_host_of_several))]
_TEXTS: dict[str, Any] = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}


def _amount(value: object) -> object:
    if isinstance(value, bool):
        got = f"got {str(value).lower()}"
        raise ValueError(f"{got}; an amount is a number with a unit, for example 4 for CPUs, 16Gi for bytes")  # noqa: TRY004
    return _as_text(value)


def _as_written(value: object) -> object:
    return written(value) if isinstance(value, str) else value


Quantity = Annotated[str, BeforeValidator(_amount), checked(quantity), WithJsonSchema({"type": ["string", "number"]})]
Cpus = Annotated[Quantity, AfterValidator(_some)]
"""CPUs of a container that runs jobs: slurmd registers with none of none."""
Memory = Annotated[str, BeforeValidator(_amount), checked(memory), WithJsonSchema({"type": ["string", "number"]})]
Image = Annotated[str, checked(_image)]
Digest = Annotated[str, checked(_digest)]
FilePath = Annotated[str, checked(file_path)]
"""A path of a file or folder, never a file's text."""
ContextName = Annotated[str, checked(context_name)]
"""The name of a context of a kubeconfig, never a kubeconfig's text."""
Reason = Annotated[str, checked(_reason)]
"""One line that says why a finding is accepted."""
Version = Annotated[str, checked(_operator_version)]
Gres = Annotated[str, checked(_gres)]
SlurmRelease = Annotated[
    str,
    BeforeValidator(_without_patch),
    checked(_release),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]{2}\.(0[1-9]|1[0-2])(\.[0-9].*)?$"}),
]
"""A release as 26.05. `slurmd -V` prints 26.05.2: the patch level is dropped."""
Share = Annotated[
    float,
    Field(gt=0, le=1),
    BeforeValidator(_share),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": 1}, {"type": "string", "pattern": r"^[0-9.]+%$"}]}
    ),
]
"""A share above 0 to 1; a text such as ``50%`` is accepted."""
Seconds = Annotated[
    int,
    Field(ge=0),
    BeforeValidator(_duration),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": f"^{_DURATION.pattern}$"}]}),
]
"""Seconds; a text such as ``30m`` is accepted."""
DAY_S: Final = 24 * 3600
UpToAYear = Annotated[Seconds, Field(le=365 * DAY_S)]
"""The same, to a year: a gate accepts no longer time, and Slurm's own fields are 32 bits wide."""
UpToAMonth = Annotated[Seconds, Field(le=30 * DAY_S)]
"""The same, to 30 days: with a year's deadline a gate's whole stay is within what it accepts."""
Day = Annotated[date, BeforeValidator(_as_written), WithJsonSchema({"type": "string", "format": "date"})]
"""A day as 2026-11-22. Without quotes Pulumi reads ``2026-11-22 00:00:00 +0000 UTC``."""
Moment = Annotated[str, BeforeValidator(_as_written), Field(pattern=r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)?$")]
"""A time as 2026-11-22T10:00:00Z, or an empty text; with quotes or without."""
Port = Annotated[int, Field(ge=1, le=65535)]
SlurmUser = Annotated[str, Field(pattern=USER)]
"""A user's name as slurmdbd and a token's claim have it."""
Url = Annotated[str, Field(pattern=r"^https?://[^\s/]+(/[A-Za-z0-9._~%:@+,=/-]*)?$"), checked(_url)]
"""An http or https address: a host, a port where it isn't the scheme's own, a path where there is one; no user."""
DatabaseUser = Annotated[str, checked(_database_user)]
NodeConf = Annotated[dict[str, str], BeforeValidator(_text_map), AfterValidator(node_conf), WithJsonSchema(_TEXTS)]
"""Node parameters of slurmd's ``--conf``; numbers and booleans become text (true is YES)."""
HostConf = Annotated[dict[str, str], BeforeValidator(_text_map), AfterValidator(host_conf), WithJsonSchema(_TEXTS)]
"""Parameters of a NodeName= line; numbers and booleans become text (true is YES)."""
PartitionConf = Annotated[dict[str, str], BeforeValidator(_text_map), AfterValidator(partition_conf), WithJsonSchema(_TEXTS)]
"""Parameters of a PartitionName= line; numbers and booleans become text (true is YES)."""
