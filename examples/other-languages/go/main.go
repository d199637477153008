package main

import (
	"example.com/slinky-iac/sdk/go/slinky/settings"
	"example.com/slinky-iac/sdk/go/slinky/slurm"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		// The network's stack knows where slurmctld runs: an Output.
		network, err := pulumi.NewStackReference(ctx, "organization/network/prod", nil)
		if err != nil {
			return err
		}

		atlas, err := slurm.NewHybridCluster(ctx, "atlas", &slurm.HybridClusterArgs{
			SlurmctldAddress: network.GetStringOutput(pulumi.String("slurmctldAddress")),
			Slurmdbd:         pulumi.String("slurmdbd.example.org"),
			Keys:             settings.KeysArgs{Source: pulumi.String("imported")},
			Kubernetes:       settings.KubernetesArgs{Context: pulumi.String("hpc")},
			Nodesets: settings.NodeSetMap{
				"cpu": settings.NodeSetArgs{
					Replicas:  pulumi.Int(4),
					Resources: settings.ResourcesArgs{Cpus: pulumi.Any(16), Memory: pulumi.Any("64Gi")},
				},
				"gpu": settings.NodeSetArgs{
					Replicas:  pulumi.Int(2),
					Resources: settings.ResourcesArgs{Extended: pulumi.IntMap{"nvidia.com/gpu": pulumi.Int(8)}},
					Gres:      pulumi.StringArray{pulumi.String("gpu:8")},
					Drain:     settings.DrainArgs{Deadline: pulumi.Any("2h"), OnDeadline: pulumi.String("keep")},
				},
			},
		})
		if err != nil {
			return err
		}
		ctx.Export("join", atlas.SlurmdJoin)
		ctx.Export("outsideSlurmConf", atlas.OutsideSlurmConf)
		return nil
	})
}
