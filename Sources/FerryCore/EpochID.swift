/// Names an epoch of a sealed container. The name follows from the epoch's secret, and so commits to the secret.
package typealias EpochID = UniqueID<EpochKind>
package enum EpochKind {}
