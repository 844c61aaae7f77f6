//! Settings of a MapReduce job.

use fanin_units::{Bytes, Rate, Share, Time};

use crate::declare::{section, words};
use crate::setting::Optional;

words! {
    /// When reduces learn that a map has finished.
    Tell, "\"heartbeat\" (Hadoop) or \"at-once\" (MRPerf)" {
        /// With the next heartbeat of its node.
        Heartbeat = "heartbeat",
        /// Immediately.
        AtOnce = "at-once",
    }
}

section! {
    /// A MapReduce job, after MRPerf (MASCOTS 2009) and Hadoop 1.
    #[only(MapReduce)]
    MapReduce in "mapreduce" {
        /// Input of the job; the outputs of Terasort's maps and reduces are the same size.
        input: Bytes = Bytes(6_400_000_000),
        /// Number of map tasks, one per split.
        #[range(1..=100_000)]
        maps: u32 = 100,
        /// Number of reduce tasks; "none": as many as servers.
        #[range(1..=100_000)]
        reduces: Optional<u32> = Optional::NONE,
        /// Nodes that store each split (Hadoop: dfs.replication).
            #[range(1..=512, "Hadoop's limit is the same")]
        replicas: u32 = 3,
        /// Nodes that the output is written to; Terasort writes one copy.
            #[range(1..=512, "Hadoop's limit is the same")]
        output_replicas: u32 = 1,
        /// Concurrent maps of a node (Hadoop: mapred.tasktracker.map.tasks.maximum).
        #[range(1..=100_000)]
        map_slots: u32 = 2,
        /// Concurrent reduces of a node.
        #[range(1..=100_000)]
        reduce_slots: u32 = 2,
        /// Interval at which a node reports and requests work (Hadoop 1: at least 3 s).
            #[range(Time::from_millis(1).., "a shorter interval would keep a node busy with reports; Hadoop uses 3 s")]
        heartbeat: Time = Time::from_secs(3),
        /// First heartbeats of nodes are uniform between 0 and this time; "none": one heartbeat interval.
        heartbeat_spread: Optional<Time> = Optional::NONE,
        /// Maximum number of maps, and of reduces, that a node gets with one heartbeat.
        #[range(1..=100_000)]
        tasks_per_heartbeat: u32 = 1,
        /// When reduces learn that a map has finished.
        tell: Tell = Tell::Heartbeat,
        /// Share of maps that must finish before reduces start (Hadoop: mapred.reduce.slowstart.completed.maps).
        slow_start: Share = Share::of(1, 20),
        /// Concurrent fetches of a reduce (Hadoop: mapred.reduce.parallel.copies).
        #[range(1..=100_000)]
        parallel_fetches: u32 = 5,
        /// Concurrent fetches of a reduce from one node.
        #[range(1..=100_000)]
        fetches_per_node: u32 = 1,
        /// Time to start a task's process.
        task_start: Time = Time::from_secs(1),
        /// Read rate of a disk, shared by concurrent transfers of a node.
        disk_read: Rate = Rate(640_000_000),
        /// Write rate of a disk.
        disk_write: Rate = Rate(640_000_000),
        /// Largest map output that is written once; a larger one is written in parts, then read and written again (Hadoop: io.sort.mb).
        sort_buffer: Bytes = Bytes(100_000_000),
        /// Input rate of a map's function.
        map_rate: Rate = Rate(500_000_000),
        /// Input rate of a reduce's function.
        reduce_rate: Rate = Rate(500_000_000),
        /// Durations of task steps are log-normal: standard deviation of their logarithm.
        task_spread: Share = Share::of(0, 1),
    }
}
