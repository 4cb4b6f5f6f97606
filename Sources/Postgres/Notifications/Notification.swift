/// What `NOTIFY` sent: a hint to look, never the news itself, since one sent while nobody listened is gone.
package struct Notification: Sendable, Equatable {
    /// The channel's name.
    let channel: String

    /// The text sent with it; empty when there was none.
    package let payload: String
}
