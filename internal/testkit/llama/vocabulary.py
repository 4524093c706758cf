"""Serves a model with a real vocabulary by llama.cpp's own HTTP server, for its /tokenize.

    vocabulary.py SECONDS FILE

FILE has a token a line, in hexadecimal, in the order of their ranks. Writes words.gguf into the current folder, prints
`url http://HOST:PORT` once the server listens, and ends after SECONDS. The weights are noise.
"""

import pathlib
import sys
import time

import gguf
import numpy
import xllamacpp

CONTEXT, WIDTH, HIDDEN = 512, 32, 32


def letters():
    """Returns the letter that stands for each byte in a vocabulary of byte pairs."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(0x100)]


def pair(token, ranks):
    """Returns the two tokens that were joined to this one: the last of the joins by lower ranks."""
    parts = [token[at : at + 1] for at in range(len(token))]
    while len(parts) > 2:
        joins = [(ranks.get(parts[at] + parts[at + 1], len(ranks)), at) for at in range(len(parts) - 1)]
        rank, at = min(joins)
        if rank >= ranks[token]:
            return None
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def write_model(path, tokens):
    letter = letters()
    written = ["".join(letter[byte] for byte in token) for token in tokens]
    ranks = {token: rank for rank, token in enumerate(tokens)}
    pairs = (pair(token, ranks) for token in tokens if len(token) > 1)
    merges = [" ".join("".join(letter[byte] for byte in part) for part in parts) for parts in pairs if parts]
    end = len(written)
    written.append("<|end|>")
    types = [gguf.TokenType.NORMAL] * end + [gguf.TokenType.CONTROL]
    model = gguf.GGUFWriter(path, "llama")
    model.add_name("words")
    model.add_context_length(CONTEXT)
    model.add_embedding_length(WIDTH)
    model.add_feed_forward_length(HIDDEN)
    model.add_block_count(1)
    model.add_head_count(1)
    model.add_head_count_kv(1)
    model.add_rope_dimension_count(WIDTH)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_vocab_size(len(written))
    model.add_tokenizer_model("gpt2")
    model.add_tokenizer_pre("gpt-4o")
    model.add_token_list(written)
    model.add_token_types(types)
    model.add_token_merges(merges)
    model.add_eos_token_id(end)
    model.add_add_bos_token(False)
    ones = numpy.ones(WIDTH, dtype=numpy.float32)
    words = numpy.random.default_rng(11).standard_normal((len(written), WIDTH)).astype(numpy.float16)
    square = numpy.zeros((WIDTH, WIDTH), dtype=numpy.float32)
    model.add_tensor("token_embd.weight", words)
    model.add_tensor("output_norm.weight", ones)
    model.add_tensor("blk.0.attn_norm.weight", ones)
    model.add_tensor("blk.0.ffn_norm.weight", ones)
    for part in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        model.add_tensor(f"blk.0.{part}.weight", square)
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


def main(seconds, file):
    path = "words.gguf"
    lines = pathlib.Path(file).read_text(encoding="ascii").split()
    write_model(path, [bytes.fromhex(line) for line in lines])
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx, params.n_parallel, params.port = CONTEXT, 1, 0
    server = xllamacpp.Server(params)
    print("url", server.listening_address, flush=True)
    time.sleep(float(seconds))


main(*sys.argv[1:])
