"""Proxies as kubectl uses them: each row was put to golang.org/x/net v0.57.0's httpproxy, which gave the same answer."""

from __future__ import annotations

import pytest

from slinky_iac.kube.proxies import proxy_of

PROXY = "http://proxy:3128"
API = "https://k8s.example.org:6443"
USED = [
    # NO_PROXY, URL
    ("", API),
    ("", "https://10.0.0.5:6443"),
    ("", "https://localhost.example.org"),
    ("", "https://[2001:db8::1]:6443"),
    ("10.0.0.0/8", "https://11.0.0.5"),
    ("10.0.0.0/8", "https://ten.example.org"),
    ("10.0.0.5/32", "https://10.0.0.6"),
    ("10.0.0.0/255.0.0.0", "https://10.0.0.5"),
    ("fd00::/8", "https://[fe00::1]"),
    ("10.0.0.5:443", "https://10.0.0.5:6443"),
    ("k8s.example.org:443", API),
    ("example.com", API),
    (".k8s.example.org", API),
    ("s.example.org", API),
    ("[10.0.0.5]", "https://10.0.0.5"),
    ("[::2]", "https://[::2]"),
    (",, ,", API),
    (":6443", API),
    ("*example.org", API),
    ("example.org:abc", API),
    ("10.0.0.0/33", "https://10.0.0.5"),
]
NOT_USED = [
    ("", "https://localhost:6443"),
    ("", "https://127.0.0.1:6443"),
    ("", "https://127.8.9.10"),
    ("", "https://[::1]:6443"),
    ("", "https://[::ffff:127.0.0.1]"),
    ("*", API),
    ("example.com, *", API),
    ("10.0.0.0/8", "https://10.0.0.5:6443"),
    ("10.9.9.9/8", "https://10.0.0.5:6443"),
    ("fd00::/8", "https://[fd12::1]:6443"),
    ("::ffff:10.0.0.0/104", "https://10.0.0.5"),
    ("10.0.0.5", "https://10.0.0.5:6443"),
    ("::ffff:10.0.0.5", "https://10.0.0.5"),
    ("10.0.0.5:6443", "https://10.0.0.5:6443"),
    ("10.0.0.5:", "https://10.0.0.5:6443"),
    ("10.0.0.5:443", "https://10.0.0.5"),
    ("[fd12::1]:6443", "https://[fd12::1]:6443"),
    ("fd12::1", "https://[fd12::1]:6443"),
    ("[::2]:443", "https://[::2]"),
    ("k8s.example.org", API),
    ("K8S.Example.ORG", API),
    ("example.org", API),
    (".example.org", API),
    ("*.example.org", API),
    ("k8s.example.org:6443", API),
    (" k8s.example.org ", API),
    ("other, k8s.example.org", API),
]


@pytest.mark.parametrize(("listed", "url"), USED)
def test_the_proxy_is_used(listed: str, url: str) -> None:
    assert proxy_of(url, {"HTTPS_PROXY": PROXY, "NO_PROXY": listed}) == PROXY


@pytest.mark.parametrize(("listed", "url"), NOT_USED)
def test_the_proxy_is_not_used(listed: str, url: str) -> None:
    assert proxy_of(url, {"HTTPS_PROXY": PROXY, "NO_PROXY": listed}) is None


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("proxy:3128", "http://proxy:3128"),
        ("10.0.0.1:3128", "http://10.0.0.1:3128"),
        ("proxy", "http://proxy"),
        ("user:word@proxy:3128", "http://user:word@proxy:3128"),
        ("https://proxy:3129", "https://proxy:3129"),
        ("socks5://proxy:1080", "socks5://proxy:1080"),
    ],
)
def test_a_proxy_without_a_scheme_is_an_http_one(given: str, used: str) -> None:
    assert proxy_of(API, {"HTTPS_PROXY": given}) == used


def test_each_scheme_has_its_variable_and_the_one_in_capitals_counts_first() -> None:
    env = {"HTTPS_PROXY": "a:1", "https_proxy": "b:1", "HTTP_PROXY": "c:1", "ALL_PROXY": "d:1"}
    assert proxy_of(API, env) == "http://a:1"
    assert proxy_of("http://k8s.example.org", env) == "http://c:1"
    assert proxy_of(API, {"https_proxy": "b:1", "HTTPS_PROXY": ""}) == "http://b:1"
    assert proxy_of(API, {"HTTP_PROXY": "c:1", "ALL_PROXY": "d:1"}) is None
    assert proxy_of("http://k8s.example.org", {"HTTP_PROXY": "c:1", "REQUEST_METHOD": "GET"}) is None
    assert proxy_of(API, {"HTTPS_PROXY": "a:1", "no_proxy": "example.org"}) is None
    assert proxy_of(API, {}) is None
