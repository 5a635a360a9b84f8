"""Branch profiles: how often the arms of branches were taken on test data, as files tied to their source.

`types` is what all others share; `regions` and `making` turn counts into a profile, `writer` and `reader` are
the JSON, `lines` and `binding` find the branches again when the source was edited since.
"""
