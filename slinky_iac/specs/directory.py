"""Users of a directory in Slurm's pods, by sssd (`identity.sssd`).

Slinky's slurmd and login images start sssd beside their daemon, where /etc/sssd/sssd.conf is. Its slurmctld image has
neither sssd nor libnss_sss. So sssd runs in a sidecar there, of the login image, which shares its socket with slurmctld,
and a copy of libnss_sss, which fits because both images of a release have one base.

The sidecar starts sssd again where it ends, and lets slurmctld start before sssd answers: a directory that is down must not
keep the cluster's jobs without slurmctld. A user is unknown until sssd answers. The pod's fsGroup is SlurmUser's, and sssd
takes no file or folder of such a group.

Sources: SlinkyProject/containers, Dockerfiles of 25.11 and 26.05; sssd(8); nsswitch.conf(5).
"""

from __future__ import annotations

from typing import Final

from slinky_iac import names
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.keys.catalogue import SecretEntry
from slinky_iac.specs.shared import Spec, image_of, memory, mount, requests, shell_sidecar

SIDECAR: Final = "sssd"
CONF: Final = "sssd.conf"
CA: Final = "ca.crt"
FOLDER: Final = "/etc/slinky-sssd"
"""Where pods have the Secret: sssd.conf, and ca.crt for ldap_tls_cacert."""
_LIB: Final = "/usr/local/lib/slinky-nss"
_SSS: Final = "/var/lib/sss"
_GIVEN: Final = "sssd-given"
_STATE: Final = "sssd-state"
_OWN: Final = "sssd-own"
_SCRIPT: Final = f"""\
umask 022
cd {_SSS}
chown 0:0 . /etc/sssd
chmod 755 . /etc/sssd
chmod g-s . /etc/sssd
mkdir -p mc pipes pubconf gpo_cache deskprofile db secrets keytabs pipes/private slurmctld/lib
chmod 700 db secrets keytabs pipes/private
printf '%s\\n' 'passwd: files sss' 'group: files sss' 'shadow: files' 'hosts: files dns' > slurmctld/nsswitch.conf
for each in /usr/lib64/libnss_sss.so.2 /usr/lib/*/libnss_sss.so.2; do
  [ ! -e "$each" ] || cp -L "$each" slurmctld/lib/
done
[ -e slurmctld/lib/libnss_sss.so.2 ] || {{
  echo 'identity.sssd: this image has no libnss_sss.so.2. Set identity.sssd.image to one with sssd' >&2
  exit 1
}}
: > slurmctld/ready
child=
trap '[ -z "$child" ] || kill -TERM "$child"; exit 0' TERM INT
while :; do
  install -o 0 -g 0 -m 600 {FOLDER}/{CONF} /etc/sssd/{CONF}
  rm -f /run/sssd.pid /var/run/sssd.pid
  sssd -i --logger=stderr &
  child=$!
  wait "$child" || true
  echo 'identity.sssd: sssd has ended and starts again in 5 s; until then users of the directory are unknown' >&2
  sleep 5 &
  wait "$!"
done
"""


def sssd_conf(config: ClusterConfig) -> SecretEntry | None:
    """Where sssd.conf is: a Secret of the stack's, or one that it is given. None where no sssd is asked for."""
    given = config.identity.sssd
    if given is None:
        return None
    if given.conf_from is not None:
        return given.conf_from.entry(CONF)
    return SecretEntry(names.sssd_secret(config.cluster.resource_name), CONF)


def noted(config: ClusterConfig, template: Spec) -> Spec:
    """The same template, noted with the revision of sssd.conf, so that another one replaces the pods."""
    given = config.identity.sssd
    if given is not None:
        annotations = template.setdefault("metadata", {}).setdefault("annotations", {})
        annotations[names.ANNOTATION_SSSD] = str(given.revision)
    return template


def conf_volume(config: ClusterConfig) -> list[Spec]:
    """The Secret, for a pod whose image has sssd; nothing where no sssd is asked for."""
    place = sssd_conf(config)
    if place is None:
        return []
    items = [{"key": place.entry, "path": CONF}]
    # Whether others' Secret has ca.crt isn't known: a projected source that is optional lets both be.
    ca = {"name": place.name, "items": [{"key": CA, "path": CA}], "optional": True}
    sources = [{"secret": {"name": place.name, "items": items}}, {"secret": ca}]
    return [{"name": _GIVEN, "projected": {"defaultMode": 0o600, "sources": sources}}]


def conf_mounts(config: ClusterConfig, *, by_operator: bool = False) -> list[Spec]:
    """Mounts of a container that starts sssd itself. ``by_operator``: slurm-operator mounts sssd.conf already."""
    if config.identity.sssd is None:
        return []
    own = mount(_GIVEN, f"/etc/sssd/{CONF}", CONF)
    return [mount(_GIVEN, FOLDER), *([] if by_operator else [own])]


def sidecar_pod(config: ClusterConfig) -> Spec:
    """What slurmctld's pod needs, as fields of a PodSpec."""
    given = config.identity.sssd
    if given is None:
        return {}
    image = given.image or image_of(config, "login")
    return {
        "initContainers": [_sidecar(config, image)],
        "volumes": [
            *conf_volume(config),
            {"name": _STATE, "emptyDir": {"sizeLimit": "1Gi"}},
            memory(_OWN, "1Mi"),
        ],
    }


def sidecar_client(config: ClusterConfig) -> Spec:
    """What slurmctld's container has of the sidecar: its socket, the library, and where to look. Never sssd.conf."""
    if config.identity.sssd is None:
        return {}
    shared = {f"{_SSS}/pipes": "pipes", "/etc/nsswitch.conf": "slurmctld/nsswitch.conf", _LIB: "slurmctld/lib"}
    return {
        "env": [{"name": "LD_LIBRARY_PATH", "value": _LIB}],
        "volumeMounts": [mount(_STATE, path, entry) for path, entry in shared.items()],
    }


def _sidecar(config: ClusterConfig, image: str) -> Spec:
    return shell_sidecar(
        config,
        name=SIDECAR,
        image=image,
        script=_SCRIPT,
        ready=("/bin/sh", "-c", f"[ -e {_SSS}/slurmctld/ready ]"),
        resources=requests("20m", "64Mi", "512Mi"),
        # sssd reads its configuration, and makes its files, as root. It has no need of more than root of a container.
        security={
            "runAsUser": 0,
            "runAsGroup": 0,
            "runAsNonRoot": False,
            "allowPrivilegeEscalation": False,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        mounts=(
            mount(_GIVEN, FOLDER),
            mount(_OWN, "/etc/sssd", read_only=False),
            mount(_STATE, _SSS, read_only=False),
        ),
    )
