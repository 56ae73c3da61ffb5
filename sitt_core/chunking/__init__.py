"""Where documents are cut: boundaries per strategy, one shared pack()."""
