//! Pictures of maps.

use sinew_robot::map::file::{
    Ground, Raster, pgm,
    picture::{self, Drawing},
};

fn raster() -> Raster {
    let mut raster = Raster::unknown(3, 2, [-1.5, 2.0], 0.05);
    raster.set(0, 0, Ground::Occupied);
    raster.set(2, 1, Ground::Free);
    raster
}

#[test]
fn pgm_begins_at_the_top() {
    let file = pgm::write(&raster());
    let head = b"P5\n# resolution 0.05 origin -1.500000 2.000000 0\n3 2\n255\n";
    assert_eq!(file, [&head[..], b"\xcd\xcd\xfe\x00\xcd\xcd"].concat());
    let yaml = pgm::yaml(&raster(), "my \"flat\".pgm");
    assert_eq!(
        yaml,
        "image: \"my \\\"flat\\\".pgm\"\nmode: trinary\nresolution: 0.05\n\
         origin: [-1.500000, 2.000000, 0.000000]\nnegate: 0\noccupied_thresh: 0.65\n\
         free_thresh: 0.196\n"
    );
}

#[test]
fn a_picture_of_anything_is_a_png_within_bounds() {
    let drawing = Drawing {
        path: vec![[-1.5, 2.0], [-1.4, 2.1], [f64::NAN, 0.0], [1e300, -1e300], [-1.45, 2.05]],
        dock: Some([-1.5, 2.0]),
        robot: Some([f64::INFINITY, 0.0]),
    };
    let sizes = [(3, 2), (0, 0), (1, 20_000), (9000, 1)];
    for (width, height) in sizes {
        let raster = Raster::unknown(width, height, [0.0; 2], 0.05);
        let file = picture::write(&raster, &drawing);
        assert!(file.starts_with(b"\x89PNG\r\n\x1a\n") && file.ends_with(b"IEND\xaeB`\x82"));
        let side = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap());
        assert!((1..=8192).contains(&side(16)) && (1..=8192).contains(&side(20)));
    }
}
