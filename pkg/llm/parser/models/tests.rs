//! Ids as people write them, and what they mean.

use proptest::{prelude::*, sample::select};

use super::{
    Dialect,
    find::{DialectRow, find, rows},
};

/// Id, tool calls, thinking, whether the answer starts inside thinking.
type Known = (&'static str, &'static str, &'static str, bool);

#[rustfmt::skip]
const KNOWN: &[Known] = &[
    // Fine-tunes and distills.
    ("tngtech/DeepSeek-TNG-R1T2-Chimera", "deepseek-v3", "think", true),
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "auto", "think", true),
    ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "auto", "think", true),
    ("unsloth/DeepSeek-R1-0528-Qwen3-8B-GGUF", "auto", "think", true),
    ("deepseek-r1:1.5b", "auto", "think", true),
    ("deepseek-r1:7b", "auto", "think", true),
    ("deepseek-r1:8b", "auto", "think", true),
    ("deepseek-r1:14b", "auto", "think", true),
    ("deepseek-r1:32b-qwen-distill-q4_K_M", "auto", "think", true),
    ("deepseek-r1:32b", "auto", "think", true),
    ("deepseek-r1:70b", "auto", "think", true),
    ("NousResearch/DeepHermes-3-Mistral-24B-Preview", "hermes", "think", false),
    ("NousResearch/Hermes-4-70B", "hermes", "think", false),
    ("NousResearch/Hermes-4.3-36B", "hermes", "think", false),
    ("NousResearch/Hermes-2-Pro-Llama-3-8B", "hermes", "none", false),
    ("NousResearch/Nous-Hermes-2-Mixtral-8x7B-DPO", "hermes", "none", false),
    ("hermes3:8b", "hermes", "none", false),
    ("teknium/OpenHermes-2.5-Mistral-7B", "auto", "none", false),
    ("openhermes", "auto", "none", false),
    ("deepcogito/cogito-v1-preview-llama-8B", "hermes", "think", false),
    ("Hcompany/Holo2-30B-A3B", "hermes", "think", false),
    ("Salesforce/Llama-xLAM-2-8b-fc-r", "xlam", "none", false),
    ("Salesforce/xLAM-1b-fc-r", "xlam", "none", false),
    ("Team-ACE/ToolACE-2-Llama-3.1-8B", "pythonic", "none", false),
    ("watt-ai/watt-tool-8B", "pythonic", "none", false),
    ("llama3-groq-tool-use:8b", "hermes", "none", false),
    ("meetkai/functionary-medium-v3.2", "auto", "none", false),
    ("fireworks-ai/llama-3-firefunction-v2", "phi4", "none", false),
    ("ServiceNow-AI/Apriel-Nemotron-15b-Thinker", "apriel", "apriel", true),
    ("ServiceNow-AI/Apriel-1.6-15b-Thinker", "apriel", "apriel", true),
    // Nemotron.
    ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "qwen3-coder", "think", true),
    ("nemotron-3-nano:30b", "qwen3-coder", "think", true),
    ("nvidia/nemotron-3-super-120b-a12b:free", "qwen3-coder", "think", true),
    ("nvidia/Nemotron-3.5-Nano", "qwen3-coder", "think", true),
    ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "nemotron", "think", true),
    ("nvidia/Nemotron-Nano-12B-v2-VL-BF16", "nemotron", "think", true),
    ("nvidia/Llama-3.1-Nemotron-Nano-8B-v1", "nemotron", "think", false),
    ("nvidia/Llama-3_3-Nemotron-Super-49B-v1_5", "nemotron", "think", false),
    ("nvidia/Llama-3_1-Nemotron-Ultra-253B-v1", "nemotron", "think", false),
    ("nvidia/Llama-3.1-Nemotron-70B-Instruct-HF", "auto", "auto", false),
    // Found: P17
    ("arcee-ai/Trinity-Large-Thinking", "qwen3-coder", "think", true),
    ("flint", "hermes", "think", false),
    ("JetBrains/Mellum2-12B", "hermes", "think", false),
    // Kimi.
    ("moonshotai/Kimi-K3", "kimi-k3", "kimi-k3", true),
    ("moonshotai/Kimi-K2-Thinking", "kimi-k2", "think", false),
    ("moonshot.kimi-k2-thinking", "kimi-k2", "think", false),
    ("kimi-k2.5:cloud", "kimi-k2", "think", true),
    ("accounts/fireworks/models/kimi-k2p5", "kimi-k2", "think", true),
    ("moonshotai/Kimi-K2.6", "kimi-k2", "think", true),
    ("kimi-k2-7", "kimi-k2", "think", true),
    ("moonshotai/Kimi-K2-Instruct-0905", "kimi-k2", "none", false),
    ("kimi-k2-0711-preview", "kimi-k2", "none", false),
    ("moonshotai/Kimi-VL-A3B-Thinking-2506", "auto", "kimi-legacy", false),
    ("kimi-k1.5", "auto", "kimi-legacy", false),
    ("moonshotai/Kimi-Dev-72B", "auto", "kimi-legacy", false),
    // Qwen.
    ("Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", "qwen3-coder", "none", false),
    ("qwen.qwen3-coder-30b-a3b-v1:0", "qwen3-coder", "none", false),
    ("Qwen/Qwen3-Coder-Next", "qwen3-coder", "none", false),
    ("qwen3-coder:30b", "qwen3-coder", "none", false),
    ("Qwen/Qwen3.5-4B", "qwen3-coder", "think", true),
    ("qwen/qwen3-5-397b-a17b", "qwen3-coder", "think", true),
    ("mlx-community/Qwen3.6-35B-A3B-MLX-4bit", "qwen3-coder", "think", true),
    ("Qwen/Qwen3.8-Max", "qwen3-coder", "think", true),
    ("Qwen/Qwen3-4B-Thinking-2507", "hermes", "think", true),
    ("qwen3:30b-a3b-thinking-2507-q4_K_M", "hermes", "think", true),
    ("Qwen/Qwen3-Next-80B-A3B-Thinking", "hermes", "think", true),
    ("Qwen/Qwen3-VL-235B-A22B-Thinking", "hermes", "think", true),
    ("qwen/qwen3-235b-a22b-thinking-2507", "hermes", "think", true),
    ("Qwen/Qwen3-235B-A22B-Instruct-2507", "hermes", "none", false),
    ("Qwen/Qwen3-Next-80B-A3B-Instruct", "hermes", "none", false),
    ("Qwen/Qwen3-32B", "hermes", "think", false),
    ("Qwen/Qwen3-8B-AWQ", "hermes", "think", false),
    ("Qwen/Qwen3-0.6B", "hermes", "think", false),
    ("Qwen3-1.7B-Q8_0.gguf", "hermes", "think", false),
    ("qwen3:32b-q8_0", "hermes", "think", false),
    ("qwen/qwen3-30b-a3b:free", "hermes", "think", false),
    ("accounts/fireworks/models/qwen3-235b-a22b", "hermes", "think", false),
    ("Qwen/QwQ-32B-Preview", "auto", "none", false),
    ("Qwen/QwQ-32B", "hermes", "think", true),
    ("qwq:32b", "hermes", "think", true),
    ("Qwen/Qwen2.5-7B-Instruct", "hermes", "none", false),
    ("qwen2p5-72b-instruct", "hermes", "none", false),
    ("Qwen/Qwen2-VL-7B-Instruct", "hermes", "none", false),
    ("qwen2vl-7b", "hermes", "none", false),
    ("Qwen/Qwen1.5-14B-Chat", "hermes", "none", false),
    ("qwen/qwen-plus-2025-07-28:thinking", "hermes", "think", true),
    ("qwen-max", "hermes", "none", false),
    // DeepSeek.
    ("deepseek-ai/DeepSeek-V4.1", "dsml", "think", false),
    ("deepseek-ai/DeepSeek-V4-Flash", "dsml", "think", false),
    ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-v31", "think", false),
    ("deepseek-ai/DeepSeek-V3.2", "dsml", "think", false),
    ("accounts/fireworks/models/deepseek-v3p2", "dsml", "think", false),
    ("deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek-v31", "think", false),
    ("deepseek-v3.1:671b-cloud", "deepseek-v31", "think", false),
    ("deepseek-ai/DeepSeek-R1", "deepseek-v3", "think", true),
    ("deepseek-ai/DeepSeek-R1-0528", "deepseek-v3", "think", true),
    ("us.deepseek.r1-v1:0", "deepseek-v3", "think", true),
    ("azureml://registries/azureml-deepseek/models/DeepSeek-R1/versions/1", "deepseek-v3", "think", true),
    ("deepseek-r1:671b", "deepseek-v3", "think", true),
    ("deepseek-reasoner", "deepseek-v3", "think", true),
    ("deepseek-ai/DeepSeek-V3-0324", "deepseek-v3", "none", false),
    ("deepseek.v3-v1:0", "deepseek-v3", "none", false),
    ("deepseek-chat", "deepseek-v3", "none", false),
    ("deepseek-v2.5", "deepseek-v3", "none", false),
    ("deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct", "deepseek-v3", "none", false),
    // StepFun.
    ("stepfun-ai/Step-3.5-Flash", "qwen3-coder", "think", true),
    ("stepfun/step3p5-flash", "qwen3-coder", "think", true),
    ("step-3.6", "qwen3-coder", "think", true),
    ("step-3.7-flash", "qwen3-coder", "think", true),
    ("stepfun-ai/step3", "step3", "think", true),
    ("stepfun-ai/step3-fp8", "step3", "think", true),
    ("stepfun-ai/Step-5", "step3", "think", true),
    ("stepfun-ai/Step-Audio-2-mini", "step-audio2", "think", false),
    ("stepfun-ai/Step-Audio-R1", "auto", "think", false),
    // MiniMax.
    ("MiniMaxAI/MiniMax-M3", "minimax-m3", "minimax-m3", false),
    ("MiniMaxAI/MiniMax-M2.1", "minimax-m2", "think", true),
    ("accounts/fireworks/models/minimax-m2p5", "minimax-m2", "think", true),
    ("MiniMaxAI/MiniMax-M2", "minimax-m2", "think", true),
    ("minimax.minimax-m2", "minimax-m2", "think", true),
    ("MiniMaxAI/MiniMax-M1-80k", "jamba", "think", false),
    ("MiniMaxAI/MiniMax-Text-01", "jamba", "none", false),
    // GLM.
    ("zai-org/GLM-4.7-Flash", "glm", "think", true),
    ("glm-4p7", "glm", "think", true),
    ("zai-org/GLM-5.1", "glm", "think", true),
    ("zai-org/GLM-5", "glm", "think", true),
    ("zai-org/GLM-4.5-Air", "glm", "think", false),
    ("zai-org/GLM-4.5V", "glm", "think", false),
    ("zai-org/GLM-4.6", "glm", "think", false),
    ("glm-4-6", "glm", "think", false),
    ("zai-org/GLM-4.6V-Flash", "glm", "think", false),
    ("zai-org/GLM-4.1V-9B-Thinking", "auto", "think", false),
    ("zai-org/GLM-Z1-32B-0414", "auto", "think", false),
    ("zai-org/GLM-4-9B-0414", "auto", "none", false),
    // Mistral.
    ("mistralai/Magistral-Small-2506", "mistral", "think", false),
    ("mistralai/Magistral-Small-2509", "mistral", "mistral", false),
    ("mistralai/Ministral-3-14B-Reasoning-2512", "mistral", "mistral", false),
    ("mistralai/Mistral-Small-4-119B-2603", "mistral", "mistral", false),
    ("mistral-medium-3.5", "mistral", "mistral", false),
    ("mistralai/Ministral-8B-Instruct-2410", "mistral", "none", false),
    ("mistralai/Devstral-Small-2507", "mistral", "none", false),
    ("codestral:22b", "mistral", "none", false),
    ("mixtral:8x7b", "mistral", "none", false),
    ("mistralai/Pixtral-12B-2409", "mistral", "none", false),
    ("mistralai/Voxtral-Small-24B-2507", "mistral", "none", false),
    ("mistral.mistral-large-2407-v1:0", "mistral", "none", false),
    ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral", "none", false),
    ("open-mistral-nemo", "mistral", "none", false),
    ("mistralai/Mistral-7B-Instruct-v0.3", "mistral", "none", false),
    // Llama.
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "pythonic", "none", false),
    ("us.meta.llama4-maverick-17b-instruct-v1:0", "pythonic", "none", false),
    ("meta-llama/Llama-3.1-8B-Instruct", "llama3-json", "none", false),
    ("meta.llama3-1-70b-instruct-v1:0", "llama3-json", "none", false),
    ("accounts/fireworks/models/llama-v3p1-8b-instruct", "llama3-json", "none", false),
    ("@cf/meta/llama-3.1-8b-instruct", "llama3-json", "none", false),
    ("hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M", "llama3-json", "none", false),
    ("llama3.3:70b", "llama3-json", "none", false),
    ("llama-3.3-70b-versatile", "llama3-json", "none", false),
    ("meta-llama/Meta-Llama-3-8B-Instruct", "llama3-json", "none", false),
    // Google.
    ("google/functiongemma-270m-it", "functiongemma", "none", false),
    ("google/gemma-4-31B-it", "gemma4", "gemma4", false),
    ("gemma4:e4b", "gemma4", "gemma4", false),
    ("models/gemma-3-27b-it", "auto", "none", false),
    ("gemma3n:e2b", "auto", "none", false),
    ("google/gemma-2-2b-it", "auto", "none", false),
    // Harmony.
    ("openai/gpt-oss-120b", "harmony", "harmony", false),
    ("gpt-oss:20b", "harmony", "harmony", false),
    ("openai.gpt-oss-120b-1:0", "harmony", "harmony", false),
    ("ggml-org/gpt-oss-20b-GGUF/gpt-oss-20b-mxfp4.gguf", "harmony", "harmony", false),
    ("llm-jp/llm-jp-4-8b", "harmony", "harmony", false),
    ("llm-jp/llm-jp-4.1-8b-thinking", "harmony", "harmony", false),
    // Cohere.
    ("cohere2moe", "cohere", "cohere", true),
    ("CohereLabs/command-4", "cohere", "cohere", true),
    ("CohereLabs/North-Mini", "cohere", "cohere", true),
    ("CohereLabs/command-a-reasoning-08-2025", "cohere", "cohere", false),
    ("command-a-03-2025", "cohere", "cohere", false),
    ("CohereForAI/c4ai-command-r7b-12-2024", "cohere", "cohere", false),
    ("command-r7b", "cohere", "cohere", false),
    ("cohere.command-r-plus-v1:0", "cohere", "none", false),
    ("CohereForAI/c4ai-command-r-v01", "cohere", "none", false),
    ("CohereForAI/aya-expanse-8b", "cohere", "none", false),
    // Granite.
    ("ibm-granite/granite-4.0-h-small", "hermes", "none", false),
    ("granite4:3b", "hermes", "none", false),
    ("ibm-granite/granite-3.3-8b-instruct", "granite", "granite", false),
    ("granite3.2:8b", "granite", "granite", false),
    ("granite3.1-moe:3b", "granite", "none", false),
    ("granite3-dense:8b", "granite", "none", false),
    ("ibm-granite/granite-20b-functioncalling", "granite", "none", false),
    // Tencent, Baidu, Ant.
    ("tencent/Hy3-preview", "hunyuan", "hunyuan", false),
    ("tencent/hy-v3", "hunyuan", "hunyuan", false),
    ("tencent/Hy4", "hunyuan", "hunyuan", false),
    ("tencent/Hunyuan-A13B-Instruct-GPTQ-Int4", "hunyuan", "hunyuan", false),
    ("baidu/ERNIE-4.5-21B-A3B-Thinking", "ernie45", "ernie45", true),
    ("baidu/ERNIE-4.5-VL-28B-A3B-Thinking", "ernie45", "ernie45", true),
    ("baidu/ERNIE-4.5-300B-A47B-PT", "ernie45", "none", false),
    ("inclusionAI/Ling-3-flash", "glm", "think", true),
    ("inclusionAI/Ling-3.0-flash", "glm", "think", true),
    ("inclusionAI/Ring-3-flash", "glm", "think", true),
    ("inclusionAI/Ring-3.0-1T", "glm", "think", true),
    ("inclusionAI/Ring-flash-2.0", "hermes", "think", true),
    ("inclusionAI/Ling-1T", "hermes", "none", false),
    // The others.
    ("ByteDance-Seed/Seed-OSS-36B-Instruct", "seed-oss", "seed-oss", false),
    ("swiss-ai/Apertus-8B-Instruct-2509", "apertus", "apertus", false),
    ("swiss-ai/Apertus-1.5-70B-Instruct", "apertus", "apertus", false),
    ("meituan-longcat/LongCat-Flash-Thinking", "longcat", "longcat", false),
    ("ai-sage/GigaChat3.5-100B", "gigachat3", "think", false),
    ("ai-sage/GigaChat3.5-100B-Reasoning", "gigachat3", "think", true),
    ("ai-sage/GigaChat-3.5-20B-reasoning-fp8", "gigachat3", "think", true),
    ("ai-sage/GigaChat3.1-10B-A1.8B", "gigachat3", "none", false),
    ("ai-sage/GigaChat3-10B-A1.8B", "gigachat3", "none", false),
    ("allenai/Olmo-3-7B-Think", "olmo3", "think", true),
    ("allenai/Olmo-3.1-32B-Think", "olmo3", "think", true),
    ("allenai/Olmo-3-7B-Instruct", "olmo3", "none", false),
    ("allenai/Olmo-3.1-32B-Instruct", "olmo3", "none", false),
    ("LiquidAI/LFM2.5-8B-A1B", "pythonic", "think", false),
    ("LiquidAI/LFM2-8B-A1B", "pythonic", "none", false),
    ("HuggingFaceTB/SmolLM3-3B", "hermes", "think", false),
    ("XiaomiMiMo/MiMo-V2.5", "qwen3-coder", "think", false),
    ("XiaomiMiMo/MiMo-V2-Flash", "qwen3-coder", "think", false),
    ("XiaomiMiMo/MiMo-VL-7B-RL", "hermes", "think", false),
    ("Tele-AI/TeleChat4-36B", "telechat4", "think", false),
    ("Tele-AI/TeleChat4-105B-Thinking", "telechat4", "think", false),
    ("xingchen-4-pro", "telechat4", "think", false),
    ("miromind-ai/MiroThinker-v1.5-30B", "mirothinker", "think", false),
    ("nex-agi/Nex-N2-mini", "qwen3-coder", "think", true),
    ("nex-n2-pro:q4_K_M", "qwen3-coder", "think", true),
    ("poolside/Laguna-S-2.1", "glm", "think", true),
    ("poolside/Laguna-XS.2", "glm", "think", false),
    ("Spark2.5", "glm", "think", false),
    ("iflytek/Spark-2.5-Chat", "glm", "think", false),
    ("sbintuitions/sarashina2.2-3b-instruct-v0.1", "sarashina", "none", false),
    ("sbintuitions/sarashina-mini", "sarashina", "none", false),
    ("upstage/Solar-Open-100B", "solar-open", "solar-open", false),
    ("upstage/Solar-Open2-250B", "solar-open2", "solar-open2", true),
    ("Qwen/Qwen2.5-Coder-32B-Instruct-AWQ", "qwen25-coder", "none", false),
    ("qwen2.5-coder:7b", "qwen25-coder", "none", false),
    ("FreedomIntelligence/openPangu-Embedded-7B-V1.1", "pangu", "pangu", false),
    ("FreedomIntelligence/openPangu-V2-30B", "pangu", "pangu", false),
    ("pangu-embedded", "pangu", "pangu", false),
    ("naver-hyperclovax/HyperCLOVAX-SEED-Think-32B", "hyperclovax", "hyperclovax", false),
    ("LGAI-EXAONE/K-EXAONE-236B-A23B", "hermes", "think", true),
    ("LGAI-EXAONE/EXAONE-4.5-33B", "hermes", "think", false),
    ("arcee-ai/Trinity-Mini", "hermes", "think", false),
    ("tiiuae/Falcon-H1R-7B", "hermes", "think", false),
    ("tiiuae/Falcon-H1-34B-Instruct", "hermes", "none", false),
    ("tiiuae/Falcon3-10B-Instruct", "hermes", "none", false),
    ("Nanbeige/Nanbeige4-3B-Thinking-2511", "hermes", "think", false),
    ("Nanbeige/Nanbeige4.1-3B", "hermes", "think", false),
    ("tencent/Youtu-LLM-2B", "hermes", "think", false),
    ("PrimeIntellect/INTELLECT-3", "qwen3-coder", "think", true),
    ("moonshotai/Kimi-Linear-48B-A3B-Instruct", "kimi-k2", "none", false),
    ("unsloth/GLM-5.1-GGUF:Q4_K_M", "glm", "think", true),
    ("mlx-community/MiniMax-M2.5-4bit", "minimax-m2", "think", true),
    ("inclusionAI/Ring-2.5-1T", "hermes", "think", true),
    ("mistralai/Devstral-2-123B-Instruct-2512", "mistral", "none", false),
    ("ai21labs/AI21-Jamba2-Mini", "jamba", "none", false),
    ("ibm-granite/granite-4.1-8b", "hermes", "none", false),
    ("unsloth/DeepSeek-V4-Flash-GGUF", "dsml", "think", false),
    ("BlinkDL/rwkv-world", "rwkv", "think", false),
    ("RWKV/RWKV7-Goose-World3-2.9B-HF", "rwkv", "think", false),
    ("upstage/solar-pro-2", "hermes", "think", false),
    ("speakleash/Bielik-11B-v3.0-Instruct", "hermes", "think", false),
    ("internlm/internlm3-8b-instruct", "internlm2", "none", false),
    ("internlm/internlm2_5-7b-chat", "internlm2", "none", false),
    ("internlm/internlm2-chat-7b", "internlm2", "none", false),
    ("internlm/Intern-S1-mini", "internlm2", "think", true),
    ("microsoft/Phi-4-mini-reasoning", "auto", "think", false),
    ("microsoft/Phi-4-reasoning-plus", "auto", "think", false),
    ("microsoft/Phi-4-mini-instruct-bnb-4bit", "phi4", "none", false),
    ("microsoft/Phi-4-multimodal-instruct", "phi4", "none", false),
    ("phi4:14b", "auto", "none", false),
    ("ai21labs/AI21-Jamba-Reasoning-3B", "hermes", "think", false),
    ("ai21labs/AI21-Jamba-Large-1.7", "jamba", "none", false),
    ("openbmb/MiniCPM5-1B", "minicpm5", "think", true),
    ("openbmb/MiniCPM-V-4_5", "auto", "think", false),
    ("openbmb/MiniCPM-o-4_5", "auto", "think", false),
    ("openbmb/MiniCPM4.1-8B", "auto", "think", false),
    ("pfnet/plamo-3-nict-8b", "plamo3", "plamo3", true),
    ("IQuestLab/IQuest-Q1", "iquest", "think", true),
    ("IQuestLab/IQuest-Coder-V1-40B-Instruct", "qwen3-coder", "think", false),
    ("IQuestLab/IQuest-Coder-V2-40B", "iquest", "think", true),
    ("LLM360/K2-Horizon", "k2-horizon", "k2-v3", true),
    ("LLM360/K2-V3-Instruct", "k2-horizon", "k2-v3", true),
    ("LLM360/K2-Think-V3", "k2-horizon", "k2-v3", true),
    ("rednote-hilab/dots.llm1.inst", "dots", "auto", false),
    ("inkling", "inkling", "inkling", false),
    ("muse-glimmer", "muse", "muse", false),
    ("LGAI-EXAONE/EXAONE-Deep-32B", "auto", "auto", true),
    ("exaone4:32b", "hermes", "think", false),
    ("LGAI-EXAONE/EXAONE-4.0-32B", "hermes", "think", false),
    ("RekaAI/reka-edge", "hermes", "think", false),
    // A folder above the file names the model.
    ("models--Qwen--Qwen3-32B/snapshots/9216db5781bf21249d130ec9da846c4624c16137", "hermes", "think", false),
    (r"C:\models\Qwen3-32B\model.gguf", "hermes", "think", false),
];

/// Nobody knows them: everything is recognised.
#[rustfmt::skip]
const UNKNOWN: &[&str] = &[
    "", "/", "model.gguf", "gpt-4.1-mini", "claude-sonnet-4-5", "gemini-2.5-pro", "qwen30-7b", "qwen4",
    "glm-4.9", "glm-45", "llama-2-70b-chat", "granite-5", "string-theory-7b", "mistralai/other",
    "kimi-latest", "command-r2", "step-1", "LatitudeGames/Muse-12B", "minimax-m4", "日本語",
];

fn meaning(row: DialectRow) -> (&'static str, &'static str, bool) {
    (row.tools, row.models.thinking, row.models.starts_inside)
}

#[test]
fn ids_mean_what_their_models_write() {
    assert!(KNOWN.len() >= 150, "{} ids", KNOWN.len());
    for (id, tools, thinking, inside) in KNOWN {
        assert_eq!(find(id).map(meaning), Some((*tools, *thinking, *inside)), "{id}");
    }
    for id in UNKNOWN {
        assert_eq!(find(id), None, "{id}");
        assert_eq!(Dialect::for_model(id), Dialect::default(), "{id}");
    }
}

#[test]
fn every_pattern_decides_about_some_id() {
    let reached: Vec<_> = KNOWN.iter().filter_map(|(id, ..)| find(id)).collect();
    for row in rows() {
        assert!(reached.contains(&row), "no id reaches {}", row.pattern);
    }
}

const FRONTS: [&str; 12] = [
    "",
    "unsloth/",
    "hf.co/bartowski/",
    "accounts/fireworks/models/",
    "models/",
    "openrouter:",
    "ollama/",
    "publishers/x/models/",
    "litellm_proxy/",
    "./",
    r"D:\files\",
    "org_",
];

const BACKS: [&str; 20] = [
    "",
    "-GGUF",
    "-AWQ",
    "-GPTQ-Int4",
    "-fp8",
    "-FP8-dynamic",
    "-MLX-4bit",
    "-bnb-4bit",
    "-mxfp4",
    "-Q4_K_M.gguf",
    ".Q8_0.gguf",
    "-UD-Q2_K_XL-00001-of-00003.gguf",
    ":Q4_K_M",
    "-exl2-6.0bpw",
    ":free",
    ":latest",
    "@2025",
    "-w4a16",
    "-BF16",
    "_i1",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decoration_and_spelling_change_nothing(
        (id, ..) in select(KNOWN),
        front in select(&FRONTS[..]),
        back in select(&BACKS[..]),
        upper in any::<bool>(),
        separator in select(&["-", "_", " "][..]),
    ) {
        let spelled = id.replace('-', separator);
        let spelled = if upper { spelled.to_uppercase() } else { spelled };
        prop_assert_eq!(find(&format!("{front}{spelled}{back}")), find(id));
    }

    #[test]
    fn any_text_is_an_id(id in any::<String>()) {
        let _dialect = Dialect::for_model(&id);
    }
}
