"""Planning: from a promise to a noise level, exactly and as the paper prints it."""

from sottovoce.planning.planner import NoisePlan, Plans, plan, trade_off

__all__ = ["NoisePlan", "Plans", "plan", "trade_off"]
