import * as pulumi from "@pulumi/pulumi";
import * as slinky from "@slinky-iac/slinky";

/** A resource of another provider, whose id isn't known before it is made. */
class ConfigMap extends pulumi.CustomResource {
    constructor(name: string) {
        const metadata = { name, namespace: "slurm" };
        super("kubernetes:core/v1:ConfigMap", name, { apiVersion: "v1", kind: "ConfigMap", metadata }, { version: "4.25.0" });
    }
}

/** A provider of the program's own, which a cluster refuses. */
class Kubernetes extends pulumi.ProviderResource {
    constructor(name: string) {
        super("kubernetes", name, {}, { version: "4.25.0" });
    }
}

const config = new pulumi.Config();
const machine = new ConfigMap("machine");
const label = machine.id.apply((id) => id.replace("/", "-"));
const host = pulumi.secret(pulumi.interpolate`${label}.example.org`);

export const cluster = new slinky.slurm.HybridCluster(
    "atlas",
    {
        slurmctld: host,
        accounting: { enabled: false },
        cluster: { createNamespace: false, fence: false },
        operator: { install: false, namespace: "slinky" },
        keys: { source: "imported", protect: false },
        kubernetes: { context: "one" },
        slurmrest: { url: config.require("url") },
        nodesetDefaults: { replicas: config.requireNumber("replicas") },
        nodesets: {
            cpu: {
                resources: { cpus: 16, memory: "64Gi" },
                image: pulumi.interpolate`example.org/slurmd:${label}`,
                drain: { deadline: 15, onDeadline: "keep" },
            },
        },
    },
    config.getBoolean("provider") ? { providers: [new Kubernetes("own")] } : {},
).slurmdJoin;
