package main

import (
	"strings"

	"example.com/slinky-iac/sdk/go/slinky/settings"
	"example.com/slinky-iac/sdk/go/slinky/slurm"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

// configMap is a resource of another provider, whose id isn't known before it is made.
type configMap struct {
	pulumi.CustomResourceState
}

// kubernetes is a provider of the program's own, which a cluster refuses.
type kubernetes struct {
	pulumi.ProviderResourceState
}

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		given := config.New(ctx, "")
		version := pulumi.Version("4.25.0")
		var machine configMap
		manifest := pulumi.Map{
			"apiVersion": pulumi.String("v1"),
			"kind":       pulumi.String("ConfigMap"),
			"metadata":   pulumi.Map{"name": pulumi.String("machine"), "namespace": pulumi.String("slurm")},
		}
		if err := ctx.RegisterResource("kubernetes:core/v1:ConfigMap", "machine", manifest, &machine, version); err != nil {
			return err
		}
		label := machine.ID().ApplyT(func(id string) string {
			return strings.Replace(id, "/", "-", 1)
		}).(pulumi.StringOutput)
		host := pulumi.ToSecret(pulumi.Sprintf("%s.example.org", label)).(pulumi.StringOutput)

		var opts []pulumi.ResourceOption
		if given.GetBool("provider") {
			var own kubernetes
			if err := ctx.RegisterResource("pulumi:providers:kubernetes", "own", pulumi.Map{}, &own, version); err != nil {
				return err
			}
			opts = append(opts, pulumi.Providers(&own))
		}

		atlas, err := slurm.NewHybridCluster(ctx, "atlas", &slurm.HybridClusterArgs{
			Slurmctld:       host,
			Accounting:      settings.AccountingArgs{Enabled: pulumi.Bool(false)},
			Cluster:         settings.ClusterArgs{CreateNamespace: pulumi.Bool(false), Fence: pulumi.Bool(false)},
			Operator:        settings.OperatorArgs{Install: pulumi.Bool(false), Namespace: pulumi.String("slinky")},
			Keys:            settings.KeysArgs{Source: pulumi.String("imported"), Protect: pulumi.Bool(false)},
			Kubernetes:      settings.KubernetesArgs{Context: pulumi.String("one")},
			Slurmrest:       settings.AccessArgs{Url: pulumi.String(given.Require("url"))},
			NodesetDefaults: settings.NodeSetDefaultsArgs{Replicas: pulumi.Int(given.RequireInt("replicas"))},
			Nodesets: settings.NodeSetMap{
				"cpu": settings.NodeSetArgs{
					Resources: settings.ResourcesArgs{Cpus: pulumi.Any(16), Memory: pulumi.Any("64Gi")},
					Image:     pulumi.Sprintf("example.org/slurmd:%s", label),
					Drain:     settings.DrainArgs{Deadline: pulumi.Any(15), OnDeadline: pulumi.String("keep")},
				},
			},
		}, opts...)
		if err != nil {
			return err
		}
		ctx.Export("cluster", atlas.SlurmdJoin)
		return nil
	})
}
