"""Serves a tiny model with random weights by llama.cpp's own HTTP server.

    server.py SECONDS [TOKEN=BOOST ...]

Writes tiny.gguf into the current folder, prints `url http://HOST:PORT` once the server listens, and ends after SECONDS.
The model writes noise, invalid UTF-8 included; grammars of JSON schemas and tool calls bind it. A boost
makes a token likelier in every place: without one for <|im_end|> an answer hardly ever stops.
"""

import pathlib
import sys
import time

import gguf
import numpy
import xllamacpp

CONTEXT, WIDTH, HIDDEN, HEADS, LAYERS = 4096, 64, 128, 4, 2
SPECIAL = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"]
# Tokens of their own, so that one boost starts a call.
MARKERS = ["<tool_call>\n", "<tool_call>", "</tool_call>", "<think>", "</think>"]
WORDS = ["▁a", "▁brook", "▁carries", "▁letters", "▁over", "▁stones", "é", "水", "🦀", "\n", "▁"]
PRINTABLE = [chr(code) for code in range(0x21, 0x7F)]


def vocabulary():
    """Returns the tokens, their types and their scores; each byte has a token, so any text encodes."""
    types, normal = gguf.TokenType, WORDS + PRINTABLE
    groups = [
        ([SPECIAL[0]], types.UNKNOWN),
        (SPECIAL[1:], types.CONTROL),
        (MARKERS, types.USER_DEFINED),
        ([f"<0x{byte:02X}>" for byte in range(256)], types.BYTE),
        (normal, types.NORMAL),
    ]
    rows = [(token, kind) for tokens, kind in groups for token in tokens]
    scores = [-1000.0 if kind == types.BYTE else 0.0 for _, kind in rows]
    return [token for token, _ in rows], [kind for _, kind in rows], scores


def tensors(tokens, boosts):
    """Yields the weights. Column 0 of the residual stream is a constant, which no layer changes and in
    which a token's boost is all that the output reads."""
    random = numpy.random.default_rng(11)

    def noise(rows, columns, scale=0.2):
        return (random.standard_normal((rows, columns)) * scale).astype(numpy.float32)

    def into_stream(columns):
        weights = noise(WIDTH, columns)
        weights[0] = 0.0
        return weights

    ones = numpy.ones(WIDTH, dtype=numpy.float32)
    embedding, output = noise(len(tokens), WIDTH, 0.6), noise(len(tokens), WIDTH, 0.4)
    embedding[:, 0] = 4.0
    output[:, 0] = 0.0
    for token, boost in boosts.items():
        output[tokens.index(token), 0] = boost
    yield "token_embd", embedding
    yield "output_norm", ones
    yield "output", output
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        yield f"{block}.attn_norm", ones
        yield f"{block}.ffn_norm", ones
        for part in ("q", "k", "v"):
            yield f"{block}.attn_{part}", noise(WIDTH, WIDTH)
        yield f"{block}.attn_output", into_stream(WIDTH)
        yield f"{block}.ffn_gate", noise(HIDDEN, WIDTH)
        yield f"{block}.ffn_up", noise(HIDDEN, WIDTH)
        yield f"{block}.ffn_down", into_stream(HIDDEN)


def write_model(path, boosts):
    tokens, types, scores = vocabulary()
    model = gguf.GGUFWriter(path, "llama")
    model.add_name("tiny-random")
    model.add_context_length(CONTEXT)
    model.add_embedding_length(WIDTH)
    model.add_feed_forward_length(HIDDEN)
    model.add_block_count(LAYERS)
    model.add_head_count(HEADS)
    model.add_head_count_kv(HEADS)
    model.add_rope_dimension_count(WIDTH // HEADS)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_vocab_size(len(tokens))
    model.add_tokenizer_model("llama")
    model.add_token_list(tokens)
    model.add_token_types(types)
    model.add_token_scores(scores)
    model.add_unk_token_id(SPECIAL.index("<unk>"))
    model.add_bos_token_id(SPECIAL.index("<s>"))
    model.add_eos_token_id(SPECIAL.index("<|im_end|>"))
    model.add_add_bos_token(False)
    # A space before the first word would break grammars that start with a bracket.
    model.add_add_space_prefix(False)
    template = pathlib.Path(__file__).with_name("chat_template.jinja")
    model.add_chat_template(template.read_text(encoding="utf-8"))
    for name, weights in tensors(tokens, boosts):
        model.add_tensor(f"{name}.weight", weights)
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


def main(seconds, *boosts):
    path = "tiny.gguf"
    pairs = (boost.rpartition("=") for boost in boosts)
    write_model(path, {token: float(boost) for token, _, boost in pairs})
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx, params.n_parallel = 2 * CONTEXT, 2
    params.port, params.use_jinja = 0, True
    server = xllamacpp.Server(params)
    print("url", server.listening_address, flush=True)
    time.sleep(float(seconds))


main(*sys.argv[1:])
