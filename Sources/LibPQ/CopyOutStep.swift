/// The result of discarding COPY data.
package enum CopyOutStep: Sendable {
    /// A message was discarded.
    case data
    /// Nothing has arrived: wait until the socket is readable.
    case wait
    /// The data has ended; a last result follows.
    case end
    /// The transfer failed; a last result says why.
    case failed
}
