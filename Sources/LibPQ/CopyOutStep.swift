/// What reading COPY data away came to.
package enum CopyOutStep: Sendable {
    /// A message was thrown away.
    case data
    /// Nothing has arrived: wait for reading.
    case wait
    /// The data has ended; a last result follows.
    case end
    /// The transfer failed; a last result tells why.
    case failed
}
