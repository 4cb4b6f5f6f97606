/// How the engine stood at one moment of a soak.
struct SoakSample: Sendable {
    let minute: Double
    let hotBytes: Int
    let indexBytes: Int
    /// Private memory of the process, in MB.
    let memory: Double
    /// Since the sample before.
    let walPerJob: Double
    /// Since the sample before, as the server counts them: those that only read, or are not flushed, too.
    let commitsPerJob: Double
    let waiting: Int
    /// Jobs that had been added before the table was looked at, and are in neither part of it.
    let lost: Int
}
