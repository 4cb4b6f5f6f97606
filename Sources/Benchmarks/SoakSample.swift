/// The state of the engine at one moment of a soak.
struct SoakSample: Sendable {
    let minute: Double
    let hotBytes: Int
    let indexBytes: Int
    /// Private memory of the process, in MB.
    let memory: Double
    /// WAL bytes per job since the previous sample.
    let walPerJob: Double
    /// Commits per job since the previous sample, as the server counts them, including those that only read or are not
    /// flushed.
    let commitsPerJob: Double
    let waiting: Int
    /// Jobs that were added before the tables were read, but are neither waiting nor done.
    let lost: Int
}
