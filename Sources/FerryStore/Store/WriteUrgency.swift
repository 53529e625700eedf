/// How soon a transaction of Ferry is wanted.
package enum WriteUrgency: Sendable {
    /// A pass: others wait for what the pass packs and replays.
    case pass
    /// A note for this device alone, such as that a segment is published.
    case note
}
