//! Values of sensor groups as the network interface of document 003 gives them: each tagged with its
//! type.

use serde::{Serialize, Serializer};

macro_rules! tagged {
    ($($tag:ident$(<$life:lifetime>)?($type:ty);)+) => {
        $(
            pub(crate) struct $tag$(<$life>)?(pub(crate) $type);

            impl$(<$life>)? Serialize for $tag$(<$life>)? {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.serialize_newtype_variant("", 0, stringify!($tag), &self.0)
                }
            }
        )+
    };
}

tagged! {
    Bool(bool);
    U8(u8);
    U16(u16);
    U64(u64);
    I16(i16);
    I32(i32);
    F32(f64);
    String<'a>(&'a str);
    Bytes<'a>(&'a [u8]);
    Vector3([f64; 3]);
}

/// Angles in radians, distances in metres, and how strong the echoes were.
pub(crate) struct PointCloud2D<I>(pub(crate) I);

impl<I: Iterator<Item = (f64, f64, u8)> + Clone> Serialize for PointCloud2D<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Points<I>(I);

        impl<I: Iterator<Item = (f64, f64, u8)> + Clone> Serialize for Points<I> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.0.clone())
            }
        }

        serializer.serialize_newtype_variant("", 0, "PointCloud2D", &Points(self.0.clone()))
    }
}
