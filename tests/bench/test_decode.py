"""The ONNX files that bench/decode writes."""

import unittest

from bench.decode import models, onnx_file


def fields(message):
    """The fields of a message of protobuf: (number, value), where a value is an int or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    found = []
    while at < len(message):
        tag = number()
        if tag & 7 == 0:
            found.append((tag >> 3, number()))
            continue
        size = 4 if tag & 7 == 5 else number()
        found.append((tag >> 3, message[at : at + size]))
        at += size
    return found


def all_of(message, number):
    return [value for key, value in fields(message) if key == number]


def texts(message, number):
    return [value.decode() for value in all_of(message, number)]


class Decoders(unittest.TestCase):
    def graphs(self):
        for name in ("gpt2-small", "llama-small", "llama-1b"):
            for cache in ("concat", "slots"):
                yield name, cache, models.build(name, "bf16" if name == "llama-1b" else "f32", cache)

    def test_weights_lie_one_after_the_other(self):
        for name, cache, model in self.graphs():
            end = 0
            for dtype, shape, offset in model.weights.values():
                self.assertEqual(offset % onnx_file.ALIGNMENT, 0)
                self.assertGreaterEqual(offset, end)
                end = offset + onnx_file.BYTES[dtype]
                for dim in shape:
                    end += (dim - 1) * (end - offset)
            self.assertGreaterEqual(model.weights_bytes, end)

    def test_both_forms_of_the_cache_have_the_same_weights(self):
        for name in models.SIZES:
            a, b = (models.build(name, "f32", cache).weights for cache in ("concat", "slots"))
            self.assertEqual(a, b)

    def test_every_name_is_made_before_it_is_read(self):
        for name, cache, model in self.graphs():
            graph = all_of(model.to_bytes(), 7)[0]
            known = {texts(one, 1)[0] for one in all_of(graph, 11)} | {texts(one, 8)[0] for one in all_of(graph, 5)}
            for node in all_of(graph, 1):
                self.assertLessEqual(set(texts(node, 1)) - {""}, known)
                known |= set(texts(node, 2))
            outputs = [texts(one, 1)[0] for one in all_of(graph, 12)]
            self.assertLessEqual(set(outputs), known)
            self.assertEqual(outputs[:2], ["logits", "present.0.key"])

    def test_a_billion_parameters(self):
        count = 0
        for _, shape, _ in models.build("llama-1b", "bf16").weights.values():
            size = 1
            for dim in shape:
                size *= dim
            count += size
        self.assertEqual(count, 1_235_814_400)


if __name__ == "__main__":
    unittest.main()
