"""The programs that the lab runs and does not find in Debian: what each is, where it may come from, how it is built."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

LOCKS = Path(__file__).with_name("toolchain")
"""A folder a Go build: go.mod, go.sum and, where there is one, main.go."""
KUBERNETES = "1.35.4"
PULUMI = "3.255.0"
PULUMI_KUBERNETES = "4.25.0"
PULUMI_YAML = "1.38.1"
COREDNS = "1.12.4"
OPERATOR = "1.0.1"
LATER_OPERATOR = "1.1.0"
KUBE_ROUTER = "2.1.0"
EXTERNAL_SECRETS = "0.19.2"
KEDA = "2.17.0"
KWOK = "0.8.0"
HELM_3, HELM_4 = "3.22.0", "4.3.1"
ACTIONLINT = "1.7.12"


@dataclass(frozen=True)
class Release:
    """Official files: `url` with {arch} (amd64, arm64) and {x64} (x64, arm64), and {program} for one file a program."""

    url: str


@dataclass(frozen=True)
class Trimmed:
    """A module that is built from a copy, `module` beside go.mod, with some files replaced."""

    module: str
    version: str
    checksum: str
    files: tuple[tuple[str, str], ...]
    """Path in the module, and its text here."""


@dataclass(frozen=True)
class Tool:
    """Programs that are built together from one lock folder."""

    name: str
    version: str
    packages: tuple[str, ...]
    programs: tuple[str, ...]
    minutes: int
    """CPU time of a cold build, as measured with Go 1.26 on two cores."""
    ldflags: str = "-s -w"
    cgo: bool = True
    """False for what runs in an image without a C library."""
    module_files: tuple[str, str, tuple[str, ...]] | None = None
    """A module, a folder in it and the files there that the build embeds."""
    trimmed: Trimmed | None = None
    release: Release | None = None
    asked: tuple[str, ...] = ("--version",)
    """Arguments on which a program says its version; empty: not looked for on PATH."""

    @property
    def lock(self) -> Path:
        """The folder of the lock files."""
        return LOCKS / self.name

    def key(self) -> str:
        """Twelve hex digits of all that decides the build: lock files, own main, flags."""
        digest = hashlib.sha256(repr((self.packages, self.ldflags, self.cgo, self.module_files)).encode())
        if self.trimmed is not None:
            digest.update(repr(self.trimmed).encode())
        for file in sorted(self.lock.iterdir()):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
        return digest.hexdigest()[:12]


_PROVIDER = "github.com/pulumi/pulumi-kubernetes/provider/v4"
_NO_COMPONENTS = f"""package provider

import (
	"context"
	"fmt"

	"{_PROVIDER}/pkg/provider/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

var resourceProviders map[string]resource.ResourceProviderFactory

func (*kubeProvider) Construct(_ context.Context, of *pulumirpc.ConstructRequest) (*pulumirpc.ConstructResponse, error) {{
	return nil, fmt.Errorf("the lab's provider is built without components, so without %s", of.GetType())
}}
"""
"""The provider's components (Chart of helm.sh/v4, ConfigGroup, Directory) are written with the provider's own SDK for Go. No
resource of ours needs it, and the build takes 5 minutes of processor time without it, 13 with it."""
_GIT_VERSION = " ".join(
    f"-X {package}.gitVersion=v{KUBERNETES}" for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
)
_KUBE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")

TOOLS: tuple[Tool, ...] = (
    Tool(
        "kubernetes",
        KUBERNETES,
        tuple(f"k8s.io/kubernetes/cmd/{program}" for program in _KUBE),
        _KUBE,
        minutes=8,
        ldflags=f"-s -w {_GIT_VERSION}",
        release=Release(f"https://dl.k8s.io/v{KUBERNETES}/bin/linux/{{arch}}/{{program}}"),
    ),
    Tool(
        "slurm-operator",
        OPERATOR,
        tuple(f"github.com/SlinkyProject/slurm-operator/cmd/{program}" for program in ("manager", "webhook")),
        ("manager", "webhook"),
        minutes=3,
        cgo=False,
        asked=(),
    ),
    Tool(
        "pulumi",
        PULUMI,
        ("github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",),
        ("pulumi",),
        minutes=6,
        ldflags=f"-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version={PULUMI}",
        release=Release(f"https://get.pulumi.com/releases/sdk/pulumi-v{PULUMI}-linux-{{x64}}.tar.gz"),
        asked=("version",),
    ),
    Tool(
        "coredns",
        COREDNS,
        (".",),
        ("coredns",),
        minutes=2,
        release=Release(
            f"https://github.com/coredns/coredns/releases/download/v{COREDNS}/coredns_{COREDNS}_linux_{{arch}}.tgz"
        ),
        asked=("-version",),
    ),
    Tool(
        "pulumi-resource-kubernetes",
        PULUMI_KUBERNETES,
        (".",),
        ("pulumi-resource-kubernetes",),
        minutes=5,
        module_files=(_PROVIDER, "cmd/pulumi-resource-kubernetes", ("schema.json", "terraform-mapping.json")),
        trimmed=Trimmed(
            _PROVIDER,
            "4.0.0-20260115033456-f47bc2d6f199",
            "h1:j2bphCf7c2YhnBrhwht2f3TNRRgcMImltUlAgzxr9H4=",
            (("pkg/provider/provider_construct.go", _NO_COMPONENTS),),
        ),
        release=Release(
            f"https://get.pulumi.com/releases/plugins/pulumi-resource-kubernetes-v{PULUMI_KUBERNETES}-linux-{{arch}}.tar.gz"
        ),
    ),
)

LATER = Tool(
    "slurm-operator-1.1",
    LATER_OPERATOR,
    ("github.com/SlinkyProject/slurm-operator/cmd/manager",),
    ("manager",),
    minutes=3,
    cgo=False,
    asked=(),
)
"""Not one of TOOLS: only who asks builds it (lab/later_operator.py). No webhook: 1.1.0's can stop all scheduling (#189)."""

ENFORCER = Tool(
    "kube-router",
    KUBE_ROUTER,
    ("github.com/cloudnativelabs/kube-router/v2/cmd/kube-router",),
    ("kube-router",),
    minutes=5,
    cgo=False,
    asked=(),
)
"""Not one of TOOLS: only who asks builds it (lab/enforcer.py)."""

_SECRETS = "github.com/external-secrets/external-secrets"
STORE = Tool(
    "external-secrets",
    EXTERNAL_SECRETS,
    (".",),
    ("external-secrets",),
    minutes=5,
    cgo=False,
    trimmed=Trimmed(
        _SECRETS,
        EXTERNAL_SECRETS,
        "h1:bdOpEt9Pww2e8QGh4apX7M0nehwNOVAQJLd8z6hAXWI=",
        (
            ("pkg/provider/register/register.go", f'package register\n\nimport _ "{_SECRETS}/pkg/provider/kubernetes"\n'),
            ("pkg/generator/register/register.go", "package register\n"),
        ),
    ),
    asked=(),
)
"""Not one of TOOLS: only who asks builds it (lab/store.py). Of its 40 stores it has Kubernetes' own, for the others are the
SDKs of all clouds. The last release that is one module: the proxy doesn't serve the parts of 1.x."""

SCALER = Tool(
    "keda",
    KEDA,
    tuple(f"github.com/kedacore/keda/v2/cmd/{program}" for program in ("operator", "adapter")),
    ("operator", "adapter"),
    minutes=11,
    cgo=False,
    asked=(),
)
"""Not one of TOOLS: only who asks builds it (lab/keda.py)."""

FAKE_KUBELETS = Tool(
    "kwok",
    KWOK,
    ("sigs.k8s.io/kwok/cmd/kwok",),
    ("kwok",),
    minutes=5,
    cgo=False,
    asked=(),
)
"""Not one of TOOLS: only who asks builds it (lab/kwok.py)."""

HELMS = tuple(
    Tool(
        f"helm-{version[0]}",
        version,
        (f"helm.sh/helm/v{version[0]}/cmd/helm",),
        ("helm",),
        minutes=4,
        ldflags=f"-s -w -X helm.sh/helm/v{version[0]}/internal/version.version=v{version}",
        cgo=False,
        asked=("version", "--template={{.Version}}"),
    )
    for version in (HELM_3, HELM_4)
)
"""Not among TOOLS: only who asks builds them (lab/helm.py)."""

YAML_HOST = Tool(
    "pulumi-language-yaml",
    PULUMI_YAML,
    ("github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml",),
    ("pulumi-language-yaml",),
    minutes=2,
    cgo=False,
    asked=(),
)
"""Not one of TOOLS: it runs programs in YAML, which tests of the component package have (tests/integration). Of the release
that asks for the packages of PULUMI."""

LINTER = Tool(
    "actionlint",
    ACTIONLINT,
    ("github.com/rhysd/actionlint/cmd/actionlint",),
    ("actionlint",),
    minutes=1,
    cgo=False,
)
"""Not one of TOOLS: it reads workflows (lab/workflows.py), no lab needs it."""


def tool(name: str) -> Tool:
    """The tool of this name."""
    return next(tool for tool in TOOLS if tool.name == name)
