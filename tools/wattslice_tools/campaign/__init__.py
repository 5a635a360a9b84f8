"""A measuring campaign for a GPU that is at hand for less than an hour, in pieces of less than ten minutes.

`sections` says what is measured in which order, `piece` measures for one piece and goes on where the last one
stopped, `home` merges what pieces left behind, `publish` makes models, cards and documents of it, `rehearsal`
plays all of that on stand-ins for the GPU. The runbook is docs/appendix/campaign.md.
"""
