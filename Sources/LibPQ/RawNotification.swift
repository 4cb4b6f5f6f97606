/// A notification sent by `NOTIFY`.
package struct RawNotification: Sendable, Equatable {
    /// The channel's name.
    package let channel: String
    /// The text sent with it; empty if there was none.
    package let payload: String
}
