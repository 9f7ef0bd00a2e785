"""The hooks of devices."""

from tocsin.features.devices.service import PushDevices
from tocsin.features.hooks import FeatureHooks

HOOKS = FeatureHooks[PushDevices](open=PushDevices)
