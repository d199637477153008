"""The messages that are met most have a row, found by the words as they are pasted."""

from __future__ import annotations

import pytest

from slinky_iac.commands.cli import main

MET = (
    "error: no kubeconfig: tried /home/ada/.kube/config (no such file)",
    "error: no stack selected; please use `pulumi stack select`",
    "passphrase must be set with PULUMI_CONFIG_PASSPHRASE",
    "unable to open bucket file:///no/such",
    "organization name must be 'organization'",
    "no Pulumi.yaml project file found (searching upwards from /tmp)",
    "dial tcp 10.0.0.1:6443: connect: connection refused",
    "context deadline exceeded",
    "Back-off pulling image: ImagePullBackOff",
    "Low RealMemory (reported:15000 < 100.00% of configured:16000)",
    "Low socket*core*thread count, Low CPUs",
    "Kill task failed",
    "Prolog error",
    "the stack is currently locked by 1 lock(s)",
    "error: [409] Conflict: Another update is currently in progress.",
)


@pytest.mark.parametrize("message", MET)
def test_a_message_that_is_met_often_has_a_row(message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", *message.split()], "slinky") == 0
    assert capsys.readouterr().out.startswith(("on-call, ", "troubleshooting, "))
