//! Tools without state.

/// Implements [`Tool`](super::Tool) for a type without state, from its name, its description,
/// whether it ends the run, and its work on the arguments, which changes nothing.
macro_rules! unit_tool {
    ($tool:ty, $name:expr, $description:expr, $loop_breaking:expr, |$it:ident: $of:ty| $work:expr) => {
        impl $crate::tools::Tool for $tool {
            fn name(&self) -> &'static str {
                $name
            }

            fn description(&self) -> &'static str {
                $description
            }

            fn schema(&self) -> serde_json::Value {
                forgeline_llm::private::schema_of::<$of>()
            }

            fn is_loop_breaking(&self) -> bool {
                $loop_breaking
            }

            fn effects(&self) -> $crate::tools::ToolEffects {
                $crate::tools::ToolEffects::Reads
            }

            fn is_idempotent(&self) -> bool {
                true
            }

            fn execute(
                &self,
                _context: $crate::tools::ToolContext,
                arguments: forgeline_types::Json,
            ) -> $crate::tools::ToolFuture {
                let done =
                    $crate::tools::typed::read_arguments(&arguments).and_then(|$it: $of| $work);
                Box::pin(std::future::ready(done))
            }
        }
    };
}

pub(crate) use unit_tool;
