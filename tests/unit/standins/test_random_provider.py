"""The provider's wire format: secrets are marked, previews unknown, state keeps what the program marked."""

import pytest
from google.protobuf import json_format
from pulumi.runtime.proto import provider_pb2 as proto

from lab.standins import random_provider as provider

URN = "urn:pulumi:s::p::slinky:slurm:AuthKeys$random:index/randomPassword:RandomPassword::key"


class Aborted(Exception):
    """What a real context raises."""


class Context:
    """The part of grpc.ServicerContext that the provider uses."""

    def abort(self, code, details):
        raise Aborted(f"{code.name}: {details}")


def create(properties, **more):
    request = proto.CreateRequest(urn=URN, properties=provider.struct(properties), **more)
    answer = provider.RandomProvider().Create(request, Context())
    return answer.id, json_format.MessageToDict(answer.properties)


def test_outputs_are_secret_even_when_nobody_asks():
    id_, outputs = create({"length": 16, **provider.random_password.with_defaults({})})
    assert id_ == "none"
    for name in ("result", "bcryptHash"):
        assert outputs[name][provider.SIGNATURE] == provider.SECRET
    assert len(outputs["result"]["value"]) == 16


def test_a_preview_makes_nothing():
    id_, outputs = create({"length": 16, **provider.random_password.with_defaults({})}, preview=True)
    assert id_ == ""
    assert outputs["result"] == outputs["bcryptHash"] == provider.UNKNOWN


def test_a_secret_input_stays_secret_in_the_outputs():
    keepers = {"rotation": provider.secret("1")}
    _, outputs = create({"length": 16, "keepers": keepers, **provider.random_password.with_defaults({})})
    assert outputs["keepers"] == keepers


def test_an_unknown_argument_is_checked_later():
    request = proto.CheckRequest(urn=URN, news=provider.struct({"length": provider.UNKNOWN}))
    assert list(provider.RandomProvider().Check(request, Context()).failures) == []


def test_an_unknown_keeper_replaces_in_preview():
    old = {"length": 16, "keepers": {"a": "1"}}
    request = proto.DiffRequest(
        urn=URN, olds=provider.struct(old), news=provider.struct({**old, "keepers": {"a": provider.UNKNOWN}})
    )
    assert list(provider.RandomProvider().Diff(request, Context()).replaces) == ["keepers"]


def test_a_keeper_that_became_secret_is_no_change():
    old = {"length": 16, "keepers": {"a": "1"}}
    new = {"length": 16, "keepers": provider.secret({"a": "1"})}
    request = proto.DiffRequest(urn=URN, olds=provider.struct(old), news=provider.struct(new))
    assert provider.RandomProvider().Diff(request, Context()).changes == proto.DiffResponse.DIFF_NONE


def test_import_is_refused_with_the_way_out():
    with pytest.raises(Aborted, match=r"imports nothing.*official provider"):
        provider.RandomProvider().Read(proto.ReadRequest(urn=URN, id="hunter22"), Context())


def test_another_type_is_refused():
    urn = "urn:pulumi:s::p::random:index/randomPet:RandomPet::pet"
    with pytest.raises(Aborted, match="randomPet"):
        provider.RandomProvider().Check(proto.CheckRequest(urn=urn), Context())
