//! Settings of traffic classes.

use crate::Scheme;
use crate::class_of::ClassOf;
use crate::declare::section;
use crate::setting::Optional;

section! {
    /// Traffic classes: up to eight queues at every port of switches and hosts, with strict priority or weights (DWRR), buffers and PFC by class. Without `queues`, ports have one queue of data.
    Classes in "classes" {
        /// Queues, such as "3: dwrr 60, lossless, dscp 26": the class, 0 to 7, and its scheduler: strict (before all classes with weights, the highest number first) or dwrr with its weight. Optional parts: lossless (switches pause the class, by `[pfc]`; others drop), headroom SIZE of a lossless class for each link into a switch (in place of `pfc.headroom`), buffer SIZE of another class at a switch's port (in place of `switch.buffer`), and dscp with the DSCPs that ports put into the class.
        queues: Vec<String> = Vec::new(),
        /// Traffic class of the workload's packets. A scheme may set its own.
        #[needs(Classes)]
        workload: ClassOf = ClassOf::Number(0),
        /// Traffic class of background traffic: `workload.background`, `workload.load`, `workload.file` beside another workload, and `[service]`.
        #[needs(Classes)]
        background: ClassOf = ClassOf::Number(0),
        /// Traffic class of RDMA's acknowledgements and congestion notifications; "none": that of the data.
        #[needs(ClassesOfRdma)]
        control: Optional<ClassOf> = Optional::NONE,
        /// Scheme of background traffic beside a scheme of RDMA: one of TCP, such as "dctcp", with the settings of `[tcp]`; "none": the scheme itself. Schemes of TCP ignore it.
        #[needs(ClassesOfRdma)]
        background_scheme: Optional<Scheme> = Optional::NONE,
    }
}
