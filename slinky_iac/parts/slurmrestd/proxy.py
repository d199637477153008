"""TLS before slurmrestd in Kubernetes: an nginx in its pods, and its files.

slurm-operator asks ``http://<restapi>-restapi.<namespace>:6820`` and knows no other way (slurmclient_sync.go, 1.0 to
1.2.1), and the Slurm packages of Debian and of Slinky's images have no TLS plugin for slurmrestd. So TLS ends beside it.

A pod is ready when all its containers are, and the operator deletes busy pods when no slurmrestd is ready. Therefore the
proxy's container runs whatever its certificate is like: nginx is started again and again until its files are good.
"""

from __future__ import annotations

import hashlib
from typing import Final

from slinky_iac import names
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.parts.slurmrestd.settings import RestApiTls
from slinky_iac.specs.shared import Spec, container, locked, memory, mount, secret_files, sized

CONTAINER: Final = "slinky-tls"
CONF, CERTIFICATE, CLIENTS, SCRATCH = "/etc/slinky-tls/conf", "/etc/slinky-tls/own", "/etc/slinky-tls/clients", "/tmp"
NGINX_CONF, START = "nginx.conf", "start.sh"

_START = """\
# Keeps nginx running, and has it read its certificates again within seconds of their change.
pid=
trap 'kill "$pid" 2>/dev/null; exit 0' TERM INT
while :; do
  now=$(cat {files} 2>/dev/null | cksum)
  if [ -z "$pid" ] || ! kill -0 "$pid" 2>/dev/null; then
    nginx -c {conf} -g 'daemon off;' & pid=$!
  elif [ "$now" != "$seen" ]; then
    kill -HUP "$pid"
  fi
  seen=$now
  sleep 5 & wait $!
done
"""

_NGINX = """\
pid {scratch}/nginx.pid;
error_log stderr warn;
worker_processes 1;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  server_tokens off;
  client_body_temp_path {scratch}/body;
  proxy_temp_path {scratch}/proxy;
  fastcgi_temp_path {scratch}/fastcgi;
  uwsgi_temp_path {scratch}/uwsgi;
  scgi_temp_path {scratch}/scgi;
  server {{
    listen {port} ssl;
    ssl_certificate {own}/tls.crt;
    ssl_certificate_key {own}/tls.key;
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_cache off;
    ssl_session_tickets off;
{clients}    client_max_body_size 64m;
    location / {{
      proxy_pass http://127.0.0.1:{plain};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 300s;
    }}
  }}
}}
"""

_CLIENTS = """\
    ssl_client_certificate {clients}/ca.crt;
    ssl_verify_client on;
"""


def files(tls: RestApiTls) -> dict[str, str]:
    """Files of the proxy's ConfigMap; no secret is in them."""
    clients = _CLIENTS.format(clients=CLIENTS) if tls.client_ca_secret else ""
    conf = _NGINX.format(
        scratch=SCRATCH, port=names.SLURMRESTD_TLS_PORT, plain=names.SLURMRESTD_PORT, own=CERTIFICATE, clients=clients
    )
    watched = [f"{CERTIFICATE}/tls.crt", f"{CERTIFICATE}/tls.key", *([f"{CLIENTS}/ca.crt"] if clients else [])]
    return {NGINX_CONF: conf, START: _START.format(conf=f"{CONF}/{NGINX_CONF}", files=" ".join(watched))}


def secret(config: ClusterConfig, tls: RestApiTls) -> str:
    """Name of the Secret with tls.crt and tls.key."""
    return tls.secret or names.restapi_tls_secret(config.cluster.resource_name)


def pod(config: ClusterConfig, tls: RestApiTls) -> Spec:
    """The proxy's part of slurmrestd's pods: container, volumes, and a hash of its files, a change of which restarts the
    pods. Certificates need no restart. Secrets are optional, for slurmrestd must start without them."""
    mounts = [
        mount("slinky-tls-conf", CONF),
        mount("slinky-tls-own", CERTIFICATE),
        mount("slinky-tls-scratch", SCRATCH, read_only=False),
    ]
    pair = {"tls.crt": "tls.crt", "tls.key": "tls.key"}
    volumes: list[Spec] = [
        {"name": "slinky-tls-conf", "configMap": {"name": names.restapi_tls_conf(config.cluster.resource_name)}},
        secret_files("slinky-tls-own", secret(config, tls), pair, optional=True),
        memory("slinky-tls-scratch", "64Mi"),
    ]
    if tls.client_ca_secret:
        mounts.append(mount("slinky-tls-clients", CLIENTS))
        volumes.append(secret_files("slinky-tls-clients", tls.client_ca_secret, {"ca.crt": "ca.crt"}, optional=True))
    proxy = {
        "name": CONTAINER,
        "command": ["sh", f"{CONF}/{START}"],
        "ports": [{"name": "slurmrestd-tls", "containerPort": names.SLURMRESTD_TLS_PORT, "protocol": "TCP"}],
        "securityContext": {"runAsNonRoot": True, **locked()},
        "volumeMounts": mounts,
        **sized(config, "proxy", None),
    }
    hashed = hashlib.sha256("".join(files(tls).values()).encode()).hexdigest()[:16]
    return {
        "metadata": {"annotations": {names.ANNOTATION_TLS_FILES: hashed}},
        "spec": {"containers": [container(config, tls.image, proxy)], "volumes": volumes},
    }
