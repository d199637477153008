"""Stand-ins for official Pulumi plugins that no package registry serves, for machines that reach nothing but registries.

- `pulumi-language-python`: the language host, with all that an engine asks of it for up, preview, refresh, destroy,
  policy packs, Python plugins, install and about.
- `pulumi-language-python-exec`: its runner, one process a program.
- `pulumi-resource-pulumi-python`: dynamic providers, that is `pulumi.dynamic` in the project's venv.
- `pulumi-resource-random`: RandomPassword of pulumi-random; any other type is refused.

`lab.standins.install` puts them where an engine looks, and does nothing where the official ones are at hand. Each is a
shell launcher (`with-python` finds a Python that has grpc and pulumi) and a typed module here. Where their engine is killed,
they live on as the official ones do: the language host for five minutes at most, the providers for ever.
"""

MARK = "lab-standin"
"""Ends every version that a stand-in reports, as semver build metadata: comparisons ignore it, readers do not."""
VERSION = f"3.255.0+{MARK}"
"""What the language host answers to GetPluginInfo: the engine that it was written against."""
BAIL = 32
"""The runner's exit code where an error has been shown already: the language host answers "bail"."""
