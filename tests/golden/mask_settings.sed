# What may differ between two recordings of one build with other batch sizes and thread counts, beside what mask.sed covers: the settings
# themselves, and how memory and tiles are laid out by them. What `lathe doctor` says about threads differs all the same.
s/(--batch-size )[0-9]+/\1N/
s/("batch_size\\?":)[0-9]+/\1N/g
s/("(threads|tiles|peak_bytes|arena_bytes)": )[0-9]+/\1N/
s/\b[0-9.]+ [KMG]?i?B (held|planned for rollouts|activations)/SIZE \1/g
s/(memory: arena )[0-9]+ B/\1SIZE/
s/^( +)[0-9]+ \+ [0-9]+ +(steps [0-9]+\.\.[0-9]+)/\1PLACE \2/
/memory held, without K/{n;s/[0-9.]+ [KMG]?i?B/SIZE/;}
s/[0-9.]+ [KMGT]?i?B of (a budget)/SIZE of \1/
s/(tiles: )[0-9]+ x [0-9]+ of/\1N of/
s/[0-9]+ threads?\b/N threads/
