/// A notification sent by `NOTIFY`: only a hint to look, because one sent while nobody listens is lost.
package struct Notification: Sendable, Equatable {
    /// The channel's name.
    let channel: String

    /// The text sent with it; empty if there was none.
    package let payload: String
}
