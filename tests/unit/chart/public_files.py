"""The shapes of public values files of the chart slurm.

Only facts are taken from the files: which keys they set, with values of which kind. Names, images, hosts and texts are ours,
and what repeats is here once. Each case names its repository, path and commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """One public file."""

    source: str
    """Repository, path and commit."""
    values: str
    settings: Mapping[str, object] = field(default_factory=dict)
    """Some settings that it must give, by path."""
    left: Mapping[str, str] = field(default_factory=dict)
    """All that is left out, with words of why."""
    line: tuple[int, int] = (1, 2)
    same: frozenset[str] = frozenset()
    """Keys with the value that is so here in any case."""
    noted: tuple[str, ...] = ()
    """Words of notes."""
    errors: tuple[str, ...] = ()
    """Settings that `check` has an error about: the typed door."""


OLD = "chart 0.x"
CASES = {
    "doks": Case(
        "DO-Solutions/slinky-on-doks helm/slinky/values-slurm.yaml.tpl 229b23cd6f2a",
        """
        controller:
          slurmctld: {image: {tag: 25.11-u}}
          reconfigure: {image: {tag: 25.11-u}}
          extraConfMap: {ReturnToService: 2}
          metrics: {enabled: true, serviceMonitor: {enabled: true, labels: {release: prom}}}
        accounting:
          enabled: true
          slurmdbd: {image: {tag: 25.11-u}}
          storageConfig: {host: db, port: 25060, database: acct, username: slurm, passwordKeyRef: {name: db, key: password}}
        loginsets:
          slinky:
            enabled: true
            login: {image: {tag: 25.11-u}, volumeMounts: [{name: nfs, mountPath: /shared}]}
            podSpec: {volumes: [{name: nfs, persistentVolumeClaim: {claimName: nfs}}]}
            service: {spec: {type: ClusterIP}}
        restapi: {slurmrestd: {image: {tag: 25.11-u}}}
        configFiles: {gres.conf: "Name=gpu File=/dev/dri/renderD[128,136]\\n"}
        imagePullSecrets: [{name: pull}]
        nodesets:
          slinky:
            replicas: 2
            slurmd:
              image: {repository: r/slurmd, tag: t}
              resources:
                requests: {amd.com/gpu: 8, rdma/fabric0: 1}
                limits: {amd.com/gpu: 8, rdma/fabric0: 1}
              volumeMounts: [{name: nfs, mountPath: /shared}, {name: shm, mountPath: /dev/shm}]
            extraConfMap: {Gres: "gpu:8"}
            partition: {configMap: {State: UP, MaxTime: UNLIMITED}}
            metadata: {annotations: {k8s.v1.cni.cncf.io/networks: "a@f0, b@f1"}}
            podSpec:
              nodeSelector: {brand: amd}
              tolerations: [{key: amd.com/gpu, operator: Exists, effect: NoSchedule}]
              volumes:
                - {name: nfs, persistentVolumeClaim: {claimName: nfs}}
                - {name: shm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}
        """,
        {
            "nodesets.slinky.gres": ["gpu:8"],
            "nodesets.slinky.resources": {"extended": {"amd.com/gpu": 8, "rdma/fabric0": 1}},
            "nodesets.slinky.pod.annotations": {"k8s.v1.cni.cncf.io/networks": "a@f0, b@f1"},
            "cluster.images.pullSecrets": ["pull"],
            "accounting.database.port": 25060,
        },
        same=frozenset({"controller.reconfigure.image.tag"}),
    ),
    "the smallest": Case(
        "Zhanyl-tech/slinky-gitops values/slurm.yaml 28dc25e126f2",
        "{nodesets: {slinky: {replicas: 1}}, partitions: {all: {enabled: true}}}",
        {"nodesets.slinky.replicas": 1, "partitions.all.nodesets": ["ALL"]},
    ),
    "anchors": Case(
        "awslabs/awsome-distributed-ai 1.architectures/7.sagemaker-hyperpod-eks/slinky-slurm/slurm-values.yaml.template"
        " 249c4760f10b",
        """
        commonAffinity: &common
          nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: []}]}}
        controller:
          persistence: {storageClassName: gp3}
          podSpec: {affinity: *common}
          metrics: {enabled: true, serviceMonitor: {enabled: true}}
        accounting: {enabled: true, podSpec: {affinity: *common}}
        restapi: {podSpec: {affinity: *common}}
        loginsets:
          slinky:
            enabled: true
            replicas: 1
            login: {volumeMounts: [{name: fsx, mountPath: /fsx}]}
            rootSshAuthorizedKeys: "ssh-ed25519 AAAA a\\n"
            extraSshdConfig: "PermitRootLogin yes\\nPort 22\\n"
            podSpec: {affinity: *common, volumes: [{name: fsx, persistentVolumeClaim: {claimName: fsx}}]}
            service: {spec: {type: LoadBalancer}, port: 22}
        nodesets:
          slinky:
            enabled: true
            replicas: 4
            slurmd:
              image: {repository: r/slurmd, tag: t}
              resources:
                limits: {nvidia.com/gpu: "1", vpc.amazonaws.com/efa: 1}
                requests: {nvidia.com/gpu: "1", vpc.amazonaws.com/efa: 1}
              volumeMounts: [{name: fsx, mountPath: /fsx}, {name: shmem, mountPath: /dev/shm}]
            podSpec:
              nodeSelector: {kubernetes.io/os: linux, instance-type: g5}
              tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
              volumes:
                - {name: fsx, persistentVolumeClaim: {claimName: fsx}}
                - {name: shmem, hostPath: {path: /dev/shm}}
            extraConfMap: {Gres: ["gpu:a10g:1"]}
        vendor: {nvidia: {dcgm: {enabled: true}}}
        configFiles: {gres.conf: "AutoDetect=nvidia\\n"}
        """,
        {
            "nodesets.slinky.gres": ["gpu:a10g:1"],
            "nodesets.slinky.resources.extended": {"nvidia.com/gpu": 1, "vpc.amazonaws.com/efa": 1},
            "logins.slinky.rootAuthorizedKeys": "ssh-ed25519 AAAA a\n",
            "logins.slinky.service": {"type": "LoadBalancer"},
        },
        {
            "commonAffinity": "isn't a key",
            "loginsets.slinky.service.port": "22",
            "vendor.nvidia.dcgm.enabled": "DCGM's scripts",
        },
    ),
    "sssd beside slurmctld": Case(
        "oracle-quickstart/oci-hpc-oke terraform/files/slinky/slurm-values.yaml.tftpl b228a04cb9bb",
        """
        clusterName: oke
        slurmKey: {create: false, secretRef: {name: slurm-auth, key: slurm.key}}
        jwtKey: {create: false, secretRef: {name: jwt-auth, key: jwt.key}}
        sssd: {secretRef: {name: sssd-conf, key: sssd.conf}}
        controller:
          metadata: {annotations: {example.com/hash: "1"}}
          slurmctld:
            image: {repository: r/slurmctld, tag: t}
            volumeMounts: [{name: site-state, mountPath: /var/lib/sss}]
          reconfigure: {image: {repository: r/slurmctld, tag: t}}
          inplaceReconfigure: true
          persistence: {enabled: true, storageClassName: bv, resources: {requests: {storage: 10Gi}}}
          extraConfMap: {SelectType: select/cons_tres, TaskPlugin: "task/affinity,task/cgroup", ReturnToService: 2}
          podSpec:
            nodeSelector: {pool: sys}
            securityContext: {runAsNonRoot: false, fsGroup: 401}
            volumes: [{name: site-state, emptyDir: {}}]
            containers: [{name: sssd, image: "r/sssd:t", command: [sssd, -i], volumeMounts: []}]
        configFiles:
          plugstack.conf: "include /usr/share/pyxis/*\\n"
          topology.yaml: "- {topology: flat, cluster_default: true, flat: true}\\n"
        restapi: {replicas: 1, slurmrestd: {image: {repository: r/slurmrestd, tag: t}}, podSpec: {nodeSelector: {pool: sys}}}
        loginsets:
          slinky:
            enabled: true
            replicas: 1
            metadata: {annotations: {example.com/hash: "1"}}
            extraSshdConfig: "PermitRootLogin no\\n"
            login:
              image: {repository: r/login, tag: t}
              securityContext: {privileged: true}
              volumeMounts: [{name: ca, mountPath: /etc/site/ca, readOnly: true}, {name: tmp, mountPath: /tmp}]
            podSpec:
              volumes:
                - {name: ca, secret: {secretName: ca, items: [{key: ca.crt, path: ca.crt}]}}
                - {name: tmp, emptyDir: {medium: Memory, sizeLimit: 16Gi}}
            service:
              metadata: {annotations: {example.com/internal: "true"}}
              spec: {type: LoadBalancer, externalTrafficPolicy: Local}
        nodesets:
          cpu:
            enabled: true
            scalingMode: DaemonSet
            replicas: 2
            workloadDisruptionProtection: true
            slurmd:
              image: {repository: r/slurmd, tag: t}
              args: [-N, $(KUBE_NODE_NAME)]
              env:
                - {name: KUBE_NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
              lifecycle: {preStop: {exec: {command: [sh, -c, "true"]}}}
            logfile: {image: {repository: docker.io/library/alpine, tag: latest}}
            ssh: {enabled: true}
            extraConfMap: {Features: [cpu], Weight: 1}
            partition: {enabled: true, configMap: {State: UP, Default: "YES", MaxTime: UNLIMITED, Topology: flat}}
            podSpec: {hostNetwork: false, dnsPolicy: ClusterFirst, nodeSelector: {pool: cpu}}
        partitions: {all: {enabled: true, nodesets: [ALL], configMap: {State: UP, Default: "NO"}}}
        accounting: {enabled: true, podSpec: {nodeSelector: {pool: sys}}}
        vendor: {nvidia: {dcgm: {enabled: false}}}
        """,
        {
            "keys.slurmKeyFrom": {"secret": "slurm-auth", "key": "slurm.key"},
            "identity.sssd.confFrom": {"secret": "sssd-conf", "key": "sssd.conf"},
            "controller.persistence": {"enabled": True, "storageClass": "bv", "size": "10Gi"},
            "nodesets.cpu.features": ["cpu"],
            "nodesets.cpu.partition.config.Topology": "flat",
            "logins.slinky.service.annotations": {"example.com/internal": "true"},
            "logins.slinky.raw.service.externalTrafficPolicy": "Local",
        },
        {
            "controller.inplaceReconfigure": "",
            "controller.podSpec.containers (sssd)": "`identity.sssd` makes it",
            "controller.podSpec.securityContext.runAsNonRoot": "is false",
            "controller.podSpec.volumes (site-state)": "is of the container sssd",
            "controller.slurmctld.volumeMounts (/var/lib/sss)": "is of the container sssd",
            "loginsets.slinky.login.securityContext.privileged": "can't be privileged",
        },
        noted=("nodesets.cpu.replicas: with scalingMode: DaemonSet the chart doesn't read it",),
        same=frozenset(
            {
                "controller.reconfigure.image.repository",
                "controller.reconfigure.image.tag",
                "jwtKey.create",
                "nodesets.cpu.podSpec.dnsPolicy",
                "nodesets.cpu.workloadDisruptionProtection",
                "slurmKey.create",
                "vendor.nvidia.dcgm.enabled",
            }
        ),
        errors=(
            "nodesets.cpu.raw.container.args",
            "nodesets.cpu.raw.container.lifecycle.preStop",
        ),
    ),
    "one nodeset of many": Case(
        "gnosia93/slurm-on-k8s lesson/4 12ebca60abf4",
        """
        nodesets:
          ns-amx:
            enabled: true
            replicas: 4
            updateStrategy: {type: RollingUpdate}
            podSpec:
              nodeSelector: {workload-type: slurm-compute}
              tolerations: [{key: workload, operator: Equal, value: slurm, effect: NoSchedule}]
            slurmd: {image: {repository: r/slurmd, tag: t}, resources: {limits: {cpu: "30", memory: 120Gi}}}
            logfile: {image: {repository: docker.io/library/alpine, tag: latest}}
            extraConfMap: {CPUs: "32", Features: amx, RealMemory: "122880"}
        partitions: {amx: {enabled: true, nodesets: [ns-amx], configMap: {Default: "YES", MaxTime: infinite, State: UP}}}
        """,
        {
            "nodesets.ns-amx.features": ["amx"],
            "nodesets.ns-amx.extraConf": {"CPUs": "32", "RealMemory": "122880"},
            "partitions.amx.nodesets": ["ns-amx"],
        },
        {"nodesets.ns-amx.updateStrategy.type": "under running jobs"},
        line=(1, 0),
    ),
    "images by digest": Case(
        "NVIDIA/aicr recipes/components/slinky-slurm/values.yaml 3f70e31fc2c4",
        """
        configFiles:
          cgroup.conf: "CgroupPlugin=autodetect\\nIgnoreSystemd=yes\\n"
          gres.conf: "AutoDetect=nvidia\\n"
          plugstack.conf: "include /usr/share/pyxis/*\\n"
        sssd: {conf: "[sssd]\\nservices = nss,pam\\ndomains = LOCAL\\n[domain/LOCAL]\\nid_provider = files\\n"}
        controller:
          logfile: {image: {tag: "3.23.3"}}
          persistence:
            {enabled: true, storageClassName: null, accessModes: [ReadWriteOnce], resources: {requests: {storage: 4Gi}}}
          extraConfMap: {SelectType: select/cons_tres, ScronParameters: enable}
          metrics: {enabled: true}
        restapi:
          replicas: 1
          slurmrestd: {resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {cpu: 500m, memory: 512Mi}}}
          service: {spec: {type: ClusterIP}}
        accounting:
          enabled: false
          storageConfig: {host: mariadb, port: 3306, passwordKeyRef: {name: mariadb-password, key: password}}
        loginsets:
          slinky:
            enabled: true
            replicas: 1
            login: {image: {repository: r/login, tag: t, digest: "sha256:DIGEST"}}
            initconf: {image: {tag: "3.23.3"}}
            rootSshAuthorizedKeys: "# none yet\\n"
            extraSshdConfig: "PasswordAuthentication no\\n"
        nodesets:
          slinky:
            enabled: true
            scalingMode: StatefulSet
            replicas: 1
            slurmd: {image: {repository: r/slurmd, tag: t, digest: "sha256:DIGEST"}}
            logfile: {image: {tag: "3.23.3"}}
            partition: {enabled: true, configMap: {State: UP, Default: "YES", MaxTime: "24:00:00"}}
        vendor: {nvidia: {dcgm: {enabled: false}}}
        """.replace("DIGEST", "0" * 64),
        {
            "nodesets.slinky.partition.config.MaxTime": "24:00:00",
            "restapi.resources": {"cpus": "500m", "memory": "512Mi", "requests": {"cpus": "100m", "memory": "128Mi"}},
            "accounting.enabled": False,
        },
        {"sssd.conf": "may hold a password"},
        noted=("accounting: enabled is false",),
        same=frozenset({"nodesets.slinky.scalingMode", "vendor.nvidia.dcgm.enabled"}),
    ),
    "for slurm-bridge": Case(
        "djljvv/slurm-bridge-on-ocp configs/slurm-values.yaml 8796ec9192dc",
        """
        loginsets: {slinky: {enabled: false}}
        controller:
          extraConfMap: {MCSPlugin: mcs/label, MCSParameters: "ondemand,ondemandselect"}
          service: {spec: {type: ClusterIP}}
        nodesets: {slinky: {replicas: 0}}
        partitions: {all: {enabled: true}}
        """,
        {
            "nodesets.slinky.replicas": 0,
            "controller.extraConf": {"MCSPlugin": "mcs/label", "MCSParameters": "ondemand,ondemandselect"},
        },
        noted=("loginsets.slinky: enabled is false",),
    ),
    "keys of no chart": Case(
        "djljvv/slurm-on-ocp configs/slurm-values.yaml beacc6447ea8",
        """
        controller:
          replicas: 1
          resources: {requests: {cpu: "2", memory: 4Gi}, limits: {cpu: "4", memory: 8Gi}}
          storage: {enabled: true, size: 50Gi, storageClassName: ""}
        compute: {replicas: 2, resources: {limits: {cpu: "2"}}}
        autoscaling: {enabled: true, minReplicas: 1, maxReplicas: 10}
        slurm: {partitions: [{name: default, default: true}], accounting: {enabled: false}}
        gpu: {enabled: false}
        network: {serviceType: ClusterIP}
        monitoring: {enabled: false}
        security: {podSecurityContext: {runAsNonRoot: true}}
        images: {controller: {repository: "", tag: ""}}
        extraConfig: "# lines\\n"
        """,
        {},
        {
            "controller.replicas": "",
            "controller.resources": "",
            "controller.storage": "",
            "compute": OLD,
            "autoscaling": "",
            "slurm": OLD,
            "gpu": "",
            "network": "",
            "monitoring": "",
            "security": "",
            "extraConfig": "",
        },
    ),
    "nodeSets as a list": Case(
        "awslabs/global-capacity-orchestrator-on-aws lambda/helm-installer/charts.yaml 493e3a1203ee",
        """
        clusterName: gco
        controller:
          persistence: {existingClaim: shared}
          slurmctld:
            image: {repository: r/slurmctld, tag: t}
            resources: {requests: {cpu: 500m, memory: 512Mi}, limits: {cpu: "1", memory: 1Gi}}
          podSpec: {nodeSelector: {kubernetes.io/os: linux}}
        nodeSets:
          - name: workers
            replicas: 2
            slurmd: {image: {repository: r/slurmd, tag: t}, resources: {limits: {cpu: "2", memory: 4Gi}}}
            podSpec: {nodeSelector: {kubernetes.io/os: linux}}
        loginsets: {slinky: {enabled: false}}
        restapi: {slurmrestd: {image: {repository: r/slurmrestd, tag: t}}, podSpec: {nodeSelector: {os: linux}}}
        accounting: {enabled: false}
        """,
        {"controller.persistence.existingClaim": "shared", "controller.pod.nodeSelector": {"kubernetes.io/os": "linux"}},
        {"nodeSets": "did you mean nodesets"},
        line=(1, 1),
        noted=("loginsets.slinky: enabled is false",),
    ),
    "chart 0.3 with login": Case(
        "aws-samples/awsome-distributed-training 1.architectures/7.sagemaker-hyperpod-eks/slinky-slurm/g5/g5-values.yaml"
        " 666b4df25d15",
        """
        debug: {enabled: false, localOperator: true}
        nameOverride: ""
        imagePullSecrets: []
        imagePullPolicy: IfNotPresent
        priorityClassName: ""
        jwt: {hs256: {secretName: ""}}
        slurm:
          auth: {secretName: ""}
          extraSlurmConf: {}
          configFiles: {cgroup.conf: "ConstrainCores=yes\\n"}
        authcred: {image: {repository: r/sackd, tag: t}, resources: {}}
        controller:
          imagePullPolicy: IfNotPresent
          image: {repository: r/slurmctld, tag: t}
          service: {}
          servicePort: 6817
          affinity: {}
          persistence: {enabled: false, existingClaim: "", storageClass: standard, size: 4Gi}
        login: {enabled: true, replicas: 1, rootSshAuthorizedKeys: [], extraVolumes: []}
        compute: {nodesets: [{name: hp, replicas: 4}], partitions: [{name: all, nodesets: [ALL]}]}
        accounting:
          enabled: true
          image: {repository: r/slurmdbd, tag: t}
          external: {enabled: false, user: slurm, database: acct, password: "", host: "", port: 3306}
        mariadb: {enabled: true}
        restapi: {enabled: true, replicas: 1, image: {repository: r/slurmrestd, tag: t}, servicePort: 6820}
        slurm-exporter: {enabled: true}
        """,
        {},
        {
            "debug": OLD,
            "slurm": OLD,
            "authcred": OLD,
            "login": OLD,
            "compute": OLD,
            "mariadb": OLD,
            "slurm-exporter": OLD,
            "accounting.external": OLD,
            "accounting.image": "",
            "controller.imagePullPolicy": "",
            "controller.image": "",
            "controller.servicePort": "",
            "controller.persistence.storageClass": "storageClassName",
            "controller.persistence.size": "",
            "restapi.enabled": "",
            "restapi.image": "",
            "restapi.servicePort": "",
        },
    ),
    "below slurm:, chart 0.x": Case(
        "redhat-hpc/slinky-on-openshift helm/slinky-on-openshift/values.yaml 4a0ef4ec3792",
        """
        persistence: {enabled: false, size: 10Gi}
        slurm:
          controller: {persistence: {storageClass: null}, imagePullPolicy: IfNotPresent, image: {repository: r/c, tag: t}}
          mariadb: {enabled: true}
          authcred: {image: {repository: r/sackd, tag: t}}
          login: {enabled: true, image: {repository: r/login, tag: t}, service: {type: ClusterIP}}
          compute: {nodesets: [{name: debug, replicas: 2, useResourceLimits: true}]}
          accounting: {image: {repository: r/dbd, tag: t}, external: {enabled: true, host: db, password: x}}
          restapi: {image: {repository: r/restd, tag: t}}
        machineset: {enabled: true, instanceType: c5.metal}
        """,
        {},
        {
            "mariadb": OLD,
            "authcred": OLD,
            "login": OLD,
            "compute": OLD,
            "controller.image": "",
            "controller.imagePullPolicy": "",
            "restapi.image": "",
            "accounting.external": OLD,
        },
        noted=("accounting: enabled is false",),
    ),
    "chart 0.2 with lines as text": Case(
        "GoogleCloudPlatform/cluster-toolkit community/modules/scheduler/slinky/values/slurm.yaml 5345611ba733",
        """
        jwt: {hs256: {existingSecret: jwt-key}}
        slurm:
          auth: {existingSecret: ""}
          extraSlurmConf: "MaxNodeCount=1024\\nSelectType=select/cons_tres\\n"
        controller:
          enabled: true
          replicas: 1
          priorityClassName:
          persistence: {existingClaim: "", accessModes: [ReadWriteOnce], size: 4Gi, selector: {}}
        compute:
          nodesets: [{name: debug, partition: {enabled: true, config: "State=UP"}, nodeGres: "", nodeWeight: 1}]
        accounting: {enabled: true, replicas: 1, external: {enabled: false, host: "", port: 6819}}
        restapi: {enabled: true, replicas: 1, imagePullPolicy: IfNotPresent}
        """,
        {},
        {
            "jwt": OLD,
            "slurm": OLD,
            "compute": OLD,
            "controller.enabled": "",
            "controller.replicas": "",
            "controller.persistence.size": "",
            "accounting.replicas": "",
            "accounting.external": OLD,
            "restapi.enabled": "",
            "restapi.imagePullPolicy": "",
        },
    ),
    "chart 0.2 with a database's scripts": Case(
        "joshelb/slinky slurm-cluster-values.yaml 3f1474277737",
        """
        priorityClassName: high
        slurm: {configFiles: {gres.conf: "Name=gpu File=/dev/nvidia0\\n"}}
        controller: {persistence: {storageClass: nfs, accessModes: [ReadWriteMany]}}
        compute: {image: {repository: r/slurmd, tag: t}, nodesets: [{name: debug, replicas: 3, nodeGres: "gpu:1"}]}
        accounting: {enabled: true}
        mariadb: {auth: {existingSecret: db}, initdbScripts: {a.sql: "SELECT 1;"}, metrics: {enabled: true}}
        restapi: {replicas: 1}
        """,
        {},
        {
            "priorityClassName": "",
            "slurm": OLD,
            "compute": OLD,
            "mariadb": OLD,
            "controller.persistence.storageClass": "storageClassName",
        },
    ),
}
