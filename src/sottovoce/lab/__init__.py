"""The lab: the demo, experiments, figures."""
