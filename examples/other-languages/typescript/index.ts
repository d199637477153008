import * as pulumi from "@pulumi/pulumi";
import * as slinky from "@slinky-iac/slinky";

// The network's stack knows where slurmctld runs: an Output.
const network = new pulumi.StackReference("organization/network/prod");

const atlas = new slinky.slurm.HybridCluster("atlas", {
    slurmctldAddress: network.requireOutput("slurmctldAddress"),
    slurmdbd: "slurmdbd.example.org",
    keys: { source: "imported" },
    kubernetes: { context: "hpc" },
    nodesets: {
        cpu: { replicas: 4, resources: { cpus: 16, memory: "64Gi" } },
        gpu: {
            replicas: 2,
            resources: { extended: { "nvidia.com/gpu": 8 } },
            gres: ["gpu:8"],
            drain: { deadline: "2h", onDeadline: "keep" },
        },
    },
});

export const join = atlas.slurmdJoin;
export const outsideSlurmConf = atlas.outsideSlurmConf;
