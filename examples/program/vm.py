"""A VM of OpenStack, written out so that the example needs no cloud's SDK. With one, it is that SDK's class:
`pulumi_openstack.compute.Instance`, `pulumi_aws.ec2.Instance` …"""

from __future__ import annotations

import pulumi


class Instance(pulumi.CustomResource):
    """One VM."""

    accessIpV4: pulumi.Output[str]  # the provider's own name

    def __init__(self, name: str, *, image: str, flavor: str, user_data: str) -> None:
        made_by_the_cloud = {"accessIpV4": None}
        props = {"imageName": image, "flavorName": flavor, "userData": user_data, **made_by_the_cloud}
        super().__init__("openstack:compute/instance:Instance", name, props)

    @property
    def access_ip_v4(self) -> pulumi.Output[str]:
        """Its address, once it is made."""
        return self.accessIpV4
