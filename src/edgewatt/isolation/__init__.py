"""Layers measured by themselves: each is cut out of its network and run in a loop.

Recording a network in place tells layers apart afterwards; this package takes them apart before.

    cut.py                    a layer as a network of its own, from its network's ONNX file
    described_layer.py        the same from its description alone; single_layer.py from its sizes
    copies.py                 many copies of it in one network, so that what a call costs is small beside it
    plan.py                   all layers of a network, which of them are the same, and which cannot be cut and why
    rig.py                    what runs networks in a loop while power is logged: really, or on the simulated board
    rounds.py                 every subject in random order, again and again, with idle time between
    evaluate.py               power, runtime and interval of each subject from its visits
"""
