"""Graphs of transformers' GPT-2 and Llama: what they compute, and their full sizes without weights.

GPT-2 computes logits in float64; Llama computes norms and rotations, and both compute losses, in
float32 always. With PyTorch 2.13 and transformers 5.24 on x86-64, GPT-2's logits differ by 1e-15
of the largest, Llama's by 8e-7, and losses by 1.3e-7; the tolerances are ten times that or more.
"""

import subprocess
import time
import unittest

import torch
import transformers
from compared import HOCKET, Carried, furthest, shown, widened

import hocket.graph

EXACT_TOLERANCE, TOLERANCE = 1e-12, 1e-5
SIZES = ("--after", "fusion", "--output", "loss", "--precision", "bfloat16", "--optimiser", "adamw",
         "--memory")


def gpt2(**options):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**options)).eval()


def llama(**options):
    rope = {"rope_type": "default", "rope_theta": 500000.0}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        rms_norm_eps=1e-5, tie_word_embeddings=False, rope_parameters=rope, **options)).eval()


def tiny_gpt2(**options):
    return gpt2(vocab_size=64, n_positions=16, n_embd=24, n_layer=3, n_head=4, bos_token_id=0,
                eos_token_id=0, **options)


def tiny_llama(**options):
    return llama(vocab_size=64, hidden_size=32, intermediate_size=56, num_hidden_layers=3,
                 num_attention_heads=4, num_key_value_heads=2, **options)


def of_tokens(module, batch, sequence, is_labelled, **options):
    """Returns the graph of a language model."""
    tokens = torch.zeros(batch, sequence, dtype=torch.int64)
    labels = {"labels": tokens} if is_labelled else {}
    return hocket.graph.from_module(
        module, kwargs={"input_ids": tokens, "use_cache": False, **labels}, **options)


def first_lines(text):
    """Returns the bytes that a step takes, by what takes them."""
    lines = [line.rsplit(maxsplit=1) for line in text.split("\n\n")[0].splitlines()[1:]]
    return {what: int(number) for what, number in lines}


class LongTransformers(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)

    def compare(self, module, tolerance):
        tokens = torch.randint(64, (3, 12))
        graph = of_tokens(module, 3, 12, True)
        wide = widened(module)
        numbers = {name: each.detach() for name, each in wide.named_parameters()}
        self.assertEqual(set(graph.parameters), set(numbers))
        labels = torch.randint(64, (3, 12))
        carried = Carried(shown(graph), numbers | {"input_ids": tokens, "labels": labels})
        with torch.no_grad():
            theirs = wide(input_ids=tokens, labels=labels, use_cache=False)
        apart = [furthest(carried.outputs[name], theirs[name].double())
                 for name in ("logits", "loss")]
        print(f"logits up to {theirs.logits.abs().max():.3g} differ by {apart[0]:.2g}, "
              f"the loss {theirs.loss:.4f} by {apart[1]:.2g}")
        self.assertLess(apart[0], tolerance)
        self.assertLess(apart[1], TOLERANCE)
        return [line.split(" = ")[1].split()[0] for line in shown(graph).splitlines()[:-2]]

    def test_gpt2(self):
        for attention in ("sdpa", "eager"):
            kinds = self.compare(tiny_gpt2(attn_implementation=attention), EXACT_TOLERANCE)
            counts = [kinds.count(each) for each in ("attention", "gelu", "layer_norm", "matmul")]
            self.assertEqual(counts, [3, 3, 7, 13])

    def test_llama(self):
        for attention in ("sdpa", "eager"):
            kinds = self.compare(tiny_llama(attn_implementation=attention), TOLERANCE)
            counts = [kinds.count(each) for each in ("attention", "rotary", "swiglu", "rms_norm",
                                                     "broadcast", "matmul")]
            self.assertEqual(counts, [3, 6, 3, 7, 0, 22])

    def same_memory(self, make, model, sequence):
        """Checks that a step takes what that of hocket's own model takes."""
        begin = time.monotonic()
        with hocket.graph.without_weights():
            module = make()
        graph = of_tokens(module, 1, sequence, False, loss="cross_entropy")
        print(f"{graph!r} in {time.monotonic() - begin:.1f} s")
        self.assertEqual(sum(each.bytes for each in graph.parameters.values()),
                         4 * sum(each.numel() for each in module.parameters()))
        text = subprocess.run([HOCKET, "graph", "model", *model, "--sequence", str(sequence),
                               "--batch", "1"], capture_output=True, text=True, check=True).stdout
        own = hocket.graph.Graph(text.splitlines(), {}, {}, {})
        ours, theirs = (first_lines(shown(each, *SIZES)) for each in (graph, own))
        print(ours)
        self.assertEqual(ours, theirs)
        # With labels, which are shifted by one token.
        labelled = of_tokens(module, 1, sequence, True)
        self.assertEqual(list(labelled.outputs), ["loss", "logits"])
        self.assertEqual(first_lines(shown(labelled, *SIZES))["parameters"], ours["parameters"])

    def test_gpt2_of_full_size(self):
        self.same_memory(gpt2, ["gpt2"], 1024)

    def test_llama_of_full_size(self):
        self.same_memory(lambda: llama(
            vocab_size=128256, hidden_size=8192, intermediate_size=28672, num_hidden_layers=80,
            num_attention_heads=64, num_key_value_heads=8), ["llama", "--preset", "70b"], 2048)

    def test_models_that_are_refused(self):
        def refused(module, **options):
            with self.assertRaises(hocket.graph.GraphError) as caught:
                of_tokens(module, 1, 8, False, **options)
            return str(caught.exception)
        self.assertEqual(
            refused(tiny_gpt2(activation_function="gelu")),
            'this module has no graph:\n  gelu in "transformer.h.0.mlp.act", '
            '"transformer.h.1.mlp.act", "transformer.h.2.mlp.act": graphs have gelu by tanh, not '
            'by erf; use GELU(approximate="tanh"), or "gelu_new" or "gelu_pytorch_tanh" in a '
            "configuration of transformers")
        with torch.device("meta"):
            module = tiny_llama()
        self.assertIn("it needs the values of the buffer model.rotary_emb.inv_freq, which is on "
                      "the meta device; make the module within", refused(module))
        self.assertIn('native_dropout in "transformer.drop"', refused(tiny_gpt2().train()))
        dropped = of_tokens(tiny_gpt2(attn_pdrop=0.0).train(), 1, 8, False, dropout=True)
        self.assertEqual(str(dropped).count(" = dropout "), 7)


if __name__ == "__main__":
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    print(transformers.__version__, torch.__version__)
    unittest.main(verbosity=2)
