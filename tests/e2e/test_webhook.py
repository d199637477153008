"""slurm-operator's own admission webhook, deployed by our operator component without cert-manager, before our resources.

It shows two things: what our program makes passes the operator's own checks, on create and on update, and what the webhook
refuses is what our preview refuses before it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from lab import own_images
from lab.stacks import Stack
from tests.e2e.world import Settings, World, dev_settings

NAMESPACE = "slurm"


def with_webhook(settings: Settings) -> None:
    repository, tag = own_images.WEBHOOK.rsplit(":", 1)
    operator = settings["slinky-iac:operator"]
    operator["webhook"] = {"enabled": True, "certManager": False}
    operator["values"]["webhook"] = {"image": {"repository": repository, "tag": tag}, "imagePullPolicy": "Never"}


@pytest.fixture(scope="module")
def stack(world: World) -> Iterator[Stack]:
    world.vacate()
    yield world.stack("webhook", dev_settings(with_webhook))
    world.vacate()


def test_all_that_we_make_passes_the_operator_s_own_admission(world: World, stack: Stack) -> None:
    stack.up()
    hooks = world.kubectl("get", "validatingwebhookconfigurations", "-o", "name").stdout
    assert "slurm-operator" in hooks
    stack.pulumi("preview", "--expect-no-changes")


def test_an_update_passes_it_too(world: World, stack: Stack) -> None:
    settings = dev_settings(with_webhook)
    settings["slinky-iac:nodesets"]["gpu"]["replicas"] = 3
    world.stack(stack.name, settings)
    stack.up()
    world.await_pods(NAMESPACE, "gpu", 3)


def test_it_refuses_what_preview_refuses(world: World, stack: Stack) -> None:
    found = world.objects("controllers.slinky.slurm.net", NAMESPACE)[0]
    found["spec"]["clusterName"] = "another"
    refused = world.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", check=False, stdin=managed(found))
    assert refused.returncode != 0
    assert "admission webhook" in refused.stderr, refused.stderr

    settings = dev_settings(with_webhook)
    settings["slinky-iac:cluster"]["name"] = "another"
    world.stack(stack.name, settings)
    preview = stack.pulumi("preview", check=False)
    assert preview.returncode != 0
    assert "another" in preview.stdout + preview.stderr


def managed(item: Settings) -> str:
    """An object as it can be applied again."""
    item["metadata"].pop("managedFields", None)
    return yaml.safe_dump(item)
