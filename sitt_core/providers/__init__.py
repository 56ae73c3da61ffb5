"""Language models behind one stream of answer parts, and what stands in for one."""
