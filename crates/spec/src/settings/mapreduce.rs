//! A MapReduce job.

use fanin_units::{Bytes, Rate, Share, Time};

use crate::declare::{section, words};
use crate::setting::Optional;

words! {
    /// When reduces get to know that a map is done.
    Tell, "\"heartbeat\" (Hadoop) or \"at-once\" (MRPerf)" {
        /// With the next heartbeat of its node.
        Heartbeat = "heartbeat",
        /// When it is.
        AtOnce = "at-once",
    }
}

section! {
    /// A MapReduce job, after MRPerf (MASCOTS 2009) and Hadoop 1.
    #[only(MapReduce)]
    MapReduce in "mapreduce" {
        /// Bytes of the job's input; Terasort's maps put out as much, and so do its reduces.
        input: Bytes = Bytes(6_400_000_000),
        /// Map tasks, one a split.
        #[range(1..=100_000)]
        maps: u32 = 100,
        /// Reduce tasks; "none" takes as many as there are servers.
        #[range(1..=100_000)]
        reduces: Optional<u32> = Optional::NONE,
        /// Nodes that hold each split (Hadoop: dfs.replication).
        #[range(1..=512, "Hadoop has no more either")]
        replicas: u32 = 3,
        /// Nodes that the output is written to; Terasort writes one.
        #[range(1..=512, "Hadoop has no more either")]
        output_replicas: u32 = 1,
        /// Maps that a node runs at once (Hadoop: mapred.tasktracker.map.tasks.maximum).
        #[range(1..=100_000)]
        map_slots: u32 = 2,
        /// Reduces that a node runs at once.
        #[range(1..=100_000)]
        reduce_slots: u32 = 2,
        /// How often a node reports and asks for work (Hadoop 1: 3 s and more).
        #[range(Time::from_millis(1).., "a node that reports more often does nothing else; Hadoop's is 3 s")]
        heartbeat: Time = Time::from_secs(3),
        /// Nodes' first heartbeats are uniform in 0 up to this; "none": up to a heartbeat.
        heartbeat_spread: Optional<Time> = Optional::NONE,
        /// Maps, and as many reduces, that a node is given at most with a heartbeat.
        #[range(1..=100_000)]
        tasks_per_heartbeat: u32 = 1,
        /// When reduces get to know that a map is done.
        tell: Tell = Tell::Heartbeat,
        /// Share of maps that have to be done before reduces start (Hadoop: mapred.reduce.slowstart.completed.maps).
        slow_start: Share = Share::of(1, 20),
        /// Fetches that a reduce has at once (Hadoop: mapred.reduce.parallel.copies).
        #[range(1..=100_000)]
        parallel_fetches: u32 = 5,
        /// Of these, from one node.
        #[range(1..=100_000)]
        fetches_per_node: u32 = 1,
        /// Time in which a task's process starts.
        task_start: Time = Time::from_secs(1),
        /// Rate at which a disk is read; what goes on at once at a node shares its disk.
        disk_read: Rate = Rate(640_000_000),
        /// Rate at which it is written.
        disk_write: Rate = Rate(640_000_000),
        /// Output of a map up to which it is written once; above, it is written in parts, then read and written as one (Hadoop: io.sort.mb).
        sort_buffer: Bytes = Bytes(100_000_000),
        /// Input that a map's function takes in.
        map_rate: Rate = Rate(500_000_000),
        /// What a reduce's function takes in.
        reduce_rate: Rate = Rate(500_000_000),
        /// Steps of tasks take a log-normal time: the standard deviation of its logarithm.
        task_spread: Share = Share::of(0, 1),
    }
}
