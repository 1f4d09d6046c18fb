"""Privacy: noise laws, exact samplers, and what they guarantee."""
